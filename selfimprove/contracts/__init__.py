"""Frozen records for every document the loop reads or writes; no I/O."""
