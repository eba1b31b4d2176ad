"""Agents that are language models, reached over their providers' interfaces.

`agent.py` is what the registry builds and imports nothing but the standard library; the modules
that need the LLM library (`conversation.py` and what it uses, `probing.py`)
are imported when a model is asked.
"""
