"""Measuring: reading scores, taking samples, and saying which of two commits is better."""
