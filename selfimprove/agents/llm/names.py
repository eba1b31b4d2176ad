"""How a model is named in a spec: its provider, its model, and where its server is."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from importlib.util import find_spec
from ipaddress import ip_address
from urllib.parse import urlsplit

from selfimprove.errors import ConfigError

COMPATIBLE = "openai-compatible"
KEYS = {
    "anthropic": "ANTHROPIC_API_KEY",
    "openai": "OPENAI_API_KEY",
    COMPATIBLE: "OPENAI_COMPATIBLE_API_KEY",
}
"""Scheme -> the variable with its key. A compatible server is never sent the key for OpenAI."""
NO_KEY = "none"
"""What a compatible server is sent where no key is set; those that run locally take anything."""
PACKAGES = {"anthropic": "anthropic", "openai": "openai", COMPATIBLE: "openai"}


@dataclass(frozen=True)
class ModelName:
    """A provider's model."""

    scheme: str
    model: str
    url: str = ""
    """Where a compatible server is; empty for the provider's own address."""

    @property
    def spec(self) -> str:
        """How it is written in settings."""
        return f"{self.scheme}:{self.model}" + (f"@{self.url}" if self.url else "")

    @property
    def key(self) -> str:
        """The key from the environment; empty where there is none."""
        return os.environ.get(KEYS[self.scheme], "").strip()

    @property
    def paid(self) -> bool:
        """Whether somebody pays for its tokens: all but what runs on this machine."""
        return not (self.url and _is_local(urlsplit(self.url).hostname or ""))


def parse_name(scheme: str, argument: str) -> ModelName:
    """Read what follows the scheme of a spec; raises ConfigError."""
    if scheme == COMPATIBLE:
        found = re.fullmatch(r"(?P<model>[^@\s]\S*?)@(?P<url>https?://\S+)", argument)
        if found is None:
            raise ConfigError(
                f"agents: '{scheme}:{argument}' is not a model and the address of its server",
                f"write {scheme}:MODEL@http://127.0.0.1:8000/v1",
            )
        if "@" in urlsplit(found["url"]).netloc:
            raise ConfigError(
                f"agents: {scheme}: an address with a password in it would be in every record",
                f"put the key into {KEYS[scheme]}",
            )
        return ModelName(scheme, found["model"], found["url"].rstrip("/"))
    if not argument or re.search(r"\s", argument):
        raise ConfigError(f"agents: '{scheme}:{argument}' names no model", f"write {scheme}:MODEL")
    return ModelName(scheme, argument)


def ensure_installed(name: ModelName) -> None:
    """Raise ConfigError where the provider's package is not there; imports nothing."""
    package = PACKAGES[name.scheme]
    if find_spec(package) is None:
        raise ConfigError(
            f"agents: {name.spec} needs the package {package!r}",
            f"pip install 'selfimprove[{package}]'",
        )


def _is_local(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
