from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, Protocol

import pytest

from selfimprove.testing.models import ModelServer
from selfimprove.testing.models.server import KEY


class Serve(Protocol):
    def __call__(self, brain: Any, **options: Any) -> ModelServer: ...


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Starts loopback servers, and points the providers' variables at the last one."""
    with ExitStack() as stack:

        def start(brain: Any, **options: Any) -> ModelServer:
            server = stack.enter_context(ModelServer(brain, **options))
            for name in ("ANTHROPIC", "OPENAI", "OPENAI_COMPATIBLE"):
                monkeypatch.setenv(f"{name}_API_KEY", KEY)
            monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
            monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
            return server

        yield start
