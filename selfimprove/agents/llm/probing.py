"""Asks a provider whether it knows the key and the model, before anything is paid for."""

from __future__ import annotations

import os
from typing import Any

import httpx2

from selfimprove.agents.llm.names import COMPATIBLE, KEYS, NO_KEY, ModelName
from selfimprove.errors import ConfigError

ADDRESSES = {"anthropic": "https://api.anthropic.com", "openai": "https://api.openai.com/v1"}
VERSION = "2023-06-01"
"""Of Anthropic's interface, which every request has to name."""
SHOWN = 5


def probe(name: ModelName, seconds: float) -> None:
    """Raise ConfigError for a bad key, an unknown model, or a server that cannot be reached.

    Lists of models cost nothing. A compatible server need not have one: then only that it is
    there is known.
    """
    if not name.key and name.scheme != COMPATIBLE:
        raise ConfigError(
            f"agents: {name.spec} needs a key, and {KEYS[name.scheme]} is not set",
            f"export {KEYS[name.scheme]}=..., or choose another agent",
        )
    try:
        with httpx2.Client(timeout=seconds, follow_redirects=True) as client:
            _judge(name, _asked(name, client))
    except httpx2.HTTPError as error:
        raise ConfigError(
            f"agents: {name.spec}: {_address(name)} cannot be reached ({_told(error)})",
            "check the address and the network",
        ) from None


def _asked(name: ModelName, client: httpx2.Client) -> httpx2.Response:
    address = _address(name)
    if name.scheme == "anthropic":
        headers = {"x-api-key": name.key, "anthropic-version": VERSION}
        return client.get(f"{address}/v1/models/{name.model}", headers=headers)
    headers = {"authorization": f"Bearer {name.key or NO_KEY}"}
    if name.scheme == COMPATIBLE:
        return client.get(f"{address}/models", headers=headers)
    return client.get(f"{address}/models/{name.model}", headers=headers)


def _judge(name: ModelName, response: httpx2.Response) -> None:
    status = response.status_code
    if status in (401, 403):
        raise ConfigError(
            f"agents: {name.spec}: the key in {KEYS[name.scheme]} is refused ({status})",
            "check the key and what it may be used for",
        )
    if name.scheme == COMPATIBLE:
        known = _models(response) if status == 200 else []
        if known and name.model not in known:
            shown = ", ".join(known[:SHOWN]) + (", ..." if len(known) > SHOWN else "")
            raise ConfigError(
                f"agents: {name.spec}: the server has no model {name.model!r}",
                f"it has {shown}",
            )
        return
    if status == 404:
        raise ConfigError(
            f"agents: {name.spec}: {_address(name)} has no model {name.model!r} for this key",
            "check the model's name",
        )


def _models(response: httpx2.Response) -> list[str]:
    try:
        body: Any = response.json()
    except ValueError:
        return []
    rows = body.get("data") if isinstance(body, dict) else None
    return [str(row["id"]) for row in rows or [] if isinstance(row, dict) and "id" in row]


def _address(name: ModelName) -> str:
    if name.url:
        return name.url
    given = os.environ.get(f"{name.scheme.upper()}_BASE_URL", "").rstrip("/")
    return given or ADDRESSES[name.scheme]


def _told(error: httpx2.HTTPError) -> str:
    return str(error) or type(error).__name__
