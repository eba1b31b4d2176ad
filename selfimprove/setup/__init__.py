"""Setting up a target: what is found there, a short interview, and what a person confirms."""
