"""The seven steps of a round, one file each, read in order: the program."""
