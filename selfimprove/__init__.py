"""Selfimprove: a tournament of small changes to a git repository, merged only when proven."""

__version__ = "0.1.0"
