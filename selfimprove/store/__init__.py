"""The record of a run: paths, durable files, the journal, its fold and the documents."""
