"""A bad key, model or address is told at once, and costs nothing."""

from __future__ import annotations

import time

import pytest

from selfimprove.agents.llm.agent import ModelAgent
from selfimprove.contracts.settings import Settings
from selfimprove.errors import ConfigError
from selfimprove.testing.models import Say
from selfimprove.testing.models.server import MODEL

from .conftest import Serve

SPECS = (("anthropic", "{model}"), ("openai", "{model}"), ("openai-compatible", "{model}@{url}/v1"))


def agent(scheme: str, argument: str, url: str, model: str = MODEL) -> ModelAgent:
    return ModelAgent(scheme, argument.format(model=model, url=url), Settings())


@pytest.mark.parametrize(("scheme", "argument"), SPECS)
def test_a_model_is_known_or_not(serve: Serve, scheme: str, argument: str) -> None:
    server = serve(lambda _: Say("hello"))
    agent(scheme, argument, server.url).probe(5)
    with pytest.raises(ConfigError, match="no model 'other'"):
        agent(scheme, argument, server.url, "other").probe(5)
    assert server.ledger.calls == 0


@pytest.mark.parametrize(("scheme", "argument"), SPECS)
def test_a_bad_key_is_refused(
    serve: Serve, scheme: str, argument: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(lambda _: Say("hello"))
    variable = f"{scheme.upper().replace('-', '_')}_API_KEY"
    monkeypatch.setenv(variable, "wrong-key")
    with pytest.raises(ConfigError, match=rf"the key in {variable} is refused \(401\)") as told:
        agent(scheme, argument, server.url).probe(5)
    assert "wrong-key" not in str(told.value)


def test_no_key_is_told_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(ConfigError, match="ANTHROPIC_API_KEY is not set"):
        agent("anthropic", MODEL, "").probe(5)


def test_a_server_that_is_not_there(serve: Serve) -> None:
    began = time.monotonic()
    with pytest.raises(ConfigError, match="cannot be reached"):
        agent("openai-compatible", "{model}@http://127.0.0.1:9/v1", "").probe(5)
    assert time.monotonic() - began < 5


def test_a_compatible_server_is_not_sent_the_key_for_openai(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(lambda _: Say("hello"))
    monkeypatch.delenv("OPENAI_COMPATIBLE_API_KEY")
    with pytest.raises(ConfigError, match="is refused"):  # the server's key is that for OpenAI
        agent("openai-compatible", "{model}@{url}/v1", server.url).probe(5)
