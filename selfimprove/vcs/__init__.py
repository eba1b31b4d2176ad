"""Git: the target, the private clone, trees, what may be changed, and publishing."""
