"""Builds the LLM library's model for a name; the one place that knows providers' clients."""

from __future__ import annotations

import os
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

import httpx2
from pydantic_ai.models import Model

from selfimprove.agents.llm.limits import MAX_TOKENS
from selfimprove.agents.llm.names import COMPATIBLE, NO_KEY, ModelName

if TYPE_CHECKING:
    from pydantic_ai.settings import ModelSettings

CONNECT_S = 15.0
SILENCE_S = 300.0
"""How long a server may send nothing; one without a graphics card reads a prompt for minutes."""
CLIENTS = {
    "anthropic": "pydantic_ai.models.anthropic",
    "openai": "pydantic_ai.models.openai",
    COMPATIBLE: "pydantic_ai.models.openai",
}


def load(name: ModelName) -> None:
    """Import what a provider needs: seconds on a busy machine, which no deadline should count."""
    import_module(CLIENTS[name.scheme])


@asynccontextmanager
async def opened(name: ModelName) -> AsyncIterator[Model]:
    """A model with a connection of its own, for one event loop."""
    timeout = httpx2.Timeout(SILENCE_S, connect=CONNECT_S)
    made = httpx2.AsyncClient(timeout=timeout, follow_redirects=True, verify=_trust())
    async with made as client:
        yield _model(name, client)


@cache
def _trust() -> ssl.SSLContext:
    """Whom connections trust: reading the certificates takes 40 ms, so not for each question."""
    return httpx2.create_ssl_context()


def _model(name: ModelName, client: httpx2.AsyncClient) -> Model:
    if name.scheme == "anthropic":
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        url = os.environ.get("ANTHROPIC_BASE_URL") or None
        maker = AnthropicProvider(api_key=name.key, base_url=url, http_client=client)
        return AnthropicModel(name.model, provider=maker)
    return _chat_model(name, client)


def _chat_model(name: ModelName, client: httpx2.AsyncClient) -> Model:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.profiles.openai import OpenAIModelProfile
    from pydantic_ai.providers.openai import OpenAIProvider

    if name.scheme == "openai":
        url = os.environ.get("OPENAI_BASE_URL") or None
        provider = OpenAIProvider(base_url=url, api_key=name.key, http_client=client)
        return OpenAIChatModel(name.model, provider=provider)
    provider = OpenAIProvider(base_url=name.url, api_key=name.key or NO_KEY, http_client=client)
    # older servers know max_tokens alone, and ignore the newer name: answers would not end
    profile = OpenAIModelProfile(openai_chat_supports_max_completion_tokens=False)
    return OpenAIChatModel(name.model, provider=provider, profile=profile)


def settings_for(name: ModelName) -> ModelSettings:
    """How a model is asked: retries are ours, and what stays the same is marked for caches."""
    from pydantic_ai.settings import ModelSettings

    if name.scheme != "anthropic":
        return ModelSettings(max_tokens=MAX_TOKENS, max_retries=0)
    from pydantic_ai.models.anthropic import AnthropicModelSettings

    return AnthropicModelSettings(
        max_tokens=MAX_TOKENS,
        max_retries=0,
        anthropic_cache=True,
        anthropic_cache_tool_definitions=True,
    )
