"""Dotted names of settings: flattening, unknown ones, the nearest known one; pure."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel

from selfimprove.contracts.settings import Settings

ALIASES = {
    "QUALITY_THRESHOLD": "quality_threshold",
    "MAX_PLAN_RETRIES": "max_plan_retries",
    "ENABLE_ADAPTIVE_REFINEMENT": "adaptive_refinement",
}
"""Other names of settings, as variables (with or without prefix) and as keys in a file."""


def real_name(key: str) -> str:
    """The setting that a top-level key means."""
    return ALIASES.get(key.upper(), key) if key not in Settings.model_fields else key


def nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """`{"budget.run.usd": 5}` as nested mappings; nested ones stay."""
    out: dict[str, Any] = {}
    for key, value in flat.items():
        *above, last = key.split(".")
        inner = {real_name(last) if not above else last: value}
        for name in reversed(above):
            inner = {name: inner}
        out = merged(out, inner)
    return out


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Two mappings, the second winning, merged at every depth; lists are replaced whole."""
    out = dict(below)
    for key, value in above.items():
        old = out.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        out[key] = merged(old, value) if both else value  # type: ignore[arg-type]
    return out


def leaves(data: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """`{"budget.run.usd": 5}` of nested mappings; an empty mapping is a leaf."""
    out: dict[str, Any] = {}
    for key, value in data.items():
        if isinstance(value, Mapping) and value:
            out.update(leaves(value, f"{prefix}{key}."))
        else:
            out[f"{prefix}{key}"] = value
    return out


def unknown(data: Any, shape: Any = Settings, prefix: str = "") -> Iterator[str]:
    """The dotted names in the data that no setting has."""
    members = _members(shape)
    if isinstance(data, Mapping) and members is not None:
        for key, value in data.items():
            if key in members:
                yield from unknown(value, members[key], f"{prefix}{key}.")
            elif None in members:
                yield from unknown(value, members[None], f"{prefix}{key}.")
            else:
                yield f"{prefix}{key}"
    elif isinstance(data, list) and get_origin(shape) is list:
        for number, value in enumerate(data):
            yield from unknown(value, get_args(shape)[0], f"{prefix}{number}.")


def known_names(shape: Any = Settings, prefix: str = "") -> Iterator[str]:
    """Every dotted name that a setting may have; free names (a role, a sub-score) left out."""
    for key, inner in (_members(shape) or {}).items():
        if key is not None:
            yield f"{prefix}{key}"
            yield from known_names(inner, f"{prefix}{key}.")


def nearest(dotted: str) -> str | None:
    """The known name that a misspelt one comes closest to."""
    names = sorted(set(known_names()))
    close = get_close_matches(dotted.lower(), names, 1, 0.7)
    if close:
        return close[0]
    last = dotted.lower().rpartition(".")[2]  # `usd` alone is `budget.run.usd`
    return next((name for name in names if name.rpartition(".")[2] == last), None)


def is_known(dotted: str) -> bool:
    """Whether a setting has that name."""
    data: Any = None
    for part in reversed(dotted.split(".")):
        data = {part: data}
    return not any(unknown(data))


def _members(shape: Any) -> dict[str | None, Any] | None:
    """The names below a type with their types; None stands for any name."""
    if isinstance(shape, type) and issubclass(shape, BaseModel):
        fields = shape.model_fields.items()
        return {field.alias or name: field.annotation for name, field in fields}
    if get_origin(shape) is dict:
        return {None: get_args(shape)[1]}
    if get_origin(shape) in (Union, types.UnionType):
        return next(filter(None, map(_members, get_args(shape))), None)
    return None
