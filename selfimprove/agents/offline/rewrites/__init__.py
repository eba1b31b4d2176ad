"""Rewrites of Python that need more than a pattern: each file yields Codemods."""
