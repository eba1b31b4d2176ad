"""Coding CLIs as agents: programs that bring a model's tools with them, asked without a screen.

`agent.py` is the agent; each CLI is a row in a file of its own, which says how it is called and how
its answer, its tokens and its errors are read. `account.py` says who pays.
"""
