"""One checked Config from flags, environment, settings file, goal.md and defaults."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from selfimprove.config.checks import Origins, check
from selfimprove.config.environment import FromEnvironment, read_environment
from selfimprove.config.keys import leaves, merged, nearest, nested, real_name, unknown
from selfimprove.contracts.goal import Goal
from selfimprove.contracts.settings import Settings
from selfimprove.errors import ConfigError


class Source(StrEnum):
    """Where a setting came from, strongest first."""

    FLAG = "flag"
    ENVIRONMENT = "environment"
    FILE = "settings.json"
    GOAL = "goal.md"
    DEFAULT = "default"


@dataclass(frozen=True)
class Config:
    """The settings in force, the goal, and where each value came from."""

    settings: Settings
    goal: Goal
    sources: dict[str, Source]
    """Dotted setting -> source; every leaf is there."""
    warnings: tuple[str, ...] = ()

    def rows(self) -> list[tuple[str, Any, Source]]:
        """`(setting, value, source)` in the order of the contract."""
        values = leaves(self.settings.document())
        return [(key, value, self.sources[key]) for key, value in values.items()]


def load_config(
    settings_file: Path, goal: Goal, flags: Mapping[str, Any], environ: Mapping[str, str]
) -> Config:
    """Merge the sources, check the result; `flags` may be dotted, those that are None are unset."""
    from_variables = read_environment(environ)
    layers = {
        Source.GOAL: from_goal(goal),
        Source.FILE: read_settings(settings_file),
        Source.ENVIRONMENT: from_variables.data,
        Source.FLAG: nested({key: value for key, value in flags.items() if value is not None}),
    }
    data: dict[str, Any] = {}
    sources: dict[str, Source] = {}
    for source, layer in layers.items():
        data = merged(data, layer)
        said = (key for key, value in leaves(layer).items() if value != {})
        sources.update(dict.fromkeys(said, source))
    origins = _Origins(sources, from_variables, settings_file)
    for source in (Source.ENVIRONMENT, Source.FLAG):
        for key in unknown(layers[source]):
            place = origins.place(source, key)
            raise ConfigError(f"{place}: {key!r} is not a setting", _hint(key))
    settings = _settings(data, origins)
    warnings = [*from_variables.warnings, *check(settings, goal, origins)]
    complete = {key: _source(key, sources) for key in leaves(settings.document())}
    return Config(settings, goal, complete, tuple(warnings))


def from_goal(goal: Goal) -> dict[str, Any]:
    """The settings that a goal.md states."""
    said: dict[str, Any] = {
        "target_value": goal.metric.target_value,
        "benchmark_direction": goal.metric.direction,
        "primary_metric": goal.metric.name,
        "benchmark_command": goal.benchmark.command,
        "benchmark_format": goal.benchmark.format,
        "benchmark_timeout": goal.benchmark.timeout_s,
        "sealed_files": goal.benchmark.sealed,
        "guards": [guard.document() for guard in goal.guards],
        "constraints": goal.constraints,
        "sub_scores": {name: rule.document() for name, rule in goal.sub_scores.items()},
    }
    return {key: value for key, value in said.items() if value not in (None, "", [], {})}


def read_settings(path: Path) -> dict[str, Any]:
    """What a settings.json says; nothing where there is none. ConfigError where it does not fit."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}", "mend or delete it") from None
    try:
        data = json.loads(text, object_pairs_hook=_no_duplicates)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not JSON: {error}", "mend or delete it") from None
    if not isinstance(data, dict):
        raise ConfigError(f"{path}: it holds no settings", 'write {"max_iterations": 20}')
    data = {real_name(key): value for key, value in data.items()}
    for key in unknown(data):
        raise ConfigError(f"{path}: {key!r} is not a setting", _hint(key))
    return data


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    seen: dict[str, Any] = {}
    for key, value in pairs:
        if key in seen:
            raise ValueError(f"the key {key!r} stands there twice")
        seen[key] = value
    return seen


class _Origins(Origins):
    """Words where a setting was said, so that a person finds the place."""

    def __init__(
        self, sources: Mapping[str, Source], variables: FromEnvironment, file: Path
    ) -> None:
        self._sources, self._variables, self._file = sources, variables.variables, file

    def where(self, key: str) -> str:
        return self.place(self.source(key), key)

    def source(self, key: str) -> Source:
        return _source(key, self._sources)

    def place(self, source: Source, key: str) -> str:
        match source:
            case Source.FLAG:
                return f"flag for {key}"
            case Source.ENVIRONMENT:
                return f"variable {self._variable(key)}"
            case Source.FILE:
                return str(self._file)
            case Source.GOAL:
                return "goal.md"
            case Source.DEFAULT:
                return "default"

    def from_goal(self, key: str) -> bool:
        return self.source(key) is Source.GOAL

    def _variable(self, key: str) -> str:
        while key and key not in self._variables:
            key = key.rpartition(".")[0]
        return self._variables.get(key, "SELFIMPROVE_*")


def _source(key: str, sources: Mapping[str, Source]) -> Source:
    """The source of a key, or of the nearest one above it, or of one below it."""
    above = key
    while above:
        if above in sources:
            return sources[above]
        above = above.rpartition(".")[0]
    below = [source for name, source in sources.items() if name.startswith(f"{key}.")]
    return below[0] if below else Source.DEFAULT


def _hint(key: str) -> str:
    near = nearest(key)
    return f"did you mean {near!r}?" if near else "remove it; `selfimprove config` lists them all"


def _settings(data: Mapping[str, Any], origins: _Origins) -> Settings:
    try:
        return Settings.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        parts = [str(part) for part in first["loc"]]
        keys = [".".join(parts[:end]) for end in range(len(parts), 0, -1)]
        key = next((key for key in keys if origins.source(key) is not Source.DEFAULT), "")
        shown = repr(first["input"])
        what = first["msg"].removeprefix("Value error, ")
        raise ConfigError(
            f"{origins.where(key)}: {key or '.'.join(parts)}: {what}",
            f"it holds {shown if len(shown) <= 60 else shown[:57] + '...'}",
        ) from None
