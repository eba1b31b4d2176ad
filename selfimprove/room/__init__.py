"""The sandbox: what a job sees, where it may write, and the layers its tree is made of."""
