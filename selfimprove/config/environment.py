"""Settings from SELFIMPROVE_* variables, read by pydantic-settings from a given environment."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from selfimprove.config.keys import ALIASES, is_known, nearest, real_name
from selfimprove.contracts.settings import Settings

if TYPE_CHECKING:
    from pydantic_settings import BaseSettings

PREFIX = "SELFIMPROVE_"
RESERVED = frozenset({"ROLE", "ROUND", "AGENT_ID", "SESSION_ID"})
"""What agents are told by the same prefix; never settings."""


@dataclass
class FromEnvironment:
    """What the variables say, and which variable said it."""

    data: dict[str, Any] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    """Dotted setting -> variable."""
    warnings: list[str] = field(default_factory=list)


def read_environment(environ: Mapping[str, str]) -> FromEnvironment:
    """Read the variables; unknown ones are warned of, unreadable ones refused by name."""
    out = FromEnvironment()
    chosen: dict[str, str] = {}
    plain_aliases = [name for name in ALIASES if name in environ]
    prefixed = sorted(name for name in environ if name.startswith(PREFIX))
    for name in [*plain_aliases, *prefixed]:  # the prefixed one wins
        key = name.removeprefix(PREFIX)
        if name.startswith(PREFIX) and key in RESERVED:
            continue
        dotted = _dotted(key)
        if not is_known(dotted):
            near = nearest(dotted)
            hint = f"did you mean {PREFIX}{near.upper().replace('.', '__')}?" if near else "ignored"
            out.warnings.append(f"{name} is not a setting; {hint}")
            continue
        out.variables[dotted] = name
        chosen[PREFIX + dotted.replace(".", "__")] = _unquoted(environ[name])
    if chosen:
        out.data = _read(chosen)
    return out


def _dotted(key: str) -> str:
    first, *rest = key.lower().split("__")
    first = real_name(first)
    if first == "agents":  # no shell can name `benchmark-builder`
        rest = [part.replace("_", "-") for part in rest]
    return ".".join([first, *rest])


def _read(chosen: Mapping[str, str]) -> dict[str, Any]:
    from pydantic_settings import EnvSettingsSource
    from pydantic_settings.sources.utils import parse_env_vars

    class Source(EnvSettingsSource):
        """Reads what it is given, not the process's own environment."""

        def _load_env_vars(self) -> Mapping[str, str | None]:
            return parse_env_vars(chosen, False, False, "null")

        def decode_complex_value(self, field_name: str, field: Any, value: Any) -> Any:
            """JSON, or the plain string where it is none; the contract then judges it."""
            try:
                return super().decode_complex_value(field_name, field, value)
            except ValueError:
                return value

    source = Source(
        cast("type[BaseSettings]", Settings),
        case_sensitive=False,
        env_prefix=PREFIX.lower(),
        env_nested_delimiter="__",
        env_parse_none_str="null",
    )
    return source()


def _unquoted(value: str) -> str:
    """A JSON string's content; anything else as it stands."""
    try:
        decoded = json.loads(value)
    except ValueError:
        return value
    return decoded if isinstance(decoded, str) else value
