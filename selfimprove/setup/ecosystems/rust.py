"""Rust: Criterion, `cargo test`, offline after `cargo fetch`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

from selfimprove.setup.proposal import Proposal, Site


def propose(site: Site) -> Iterator[Proposal]:
    """What a Cargo project offers."""
    if not site.has("Cargo.toml"):
        return
    manifests = {file: _toml(site.text(file)) for file in site.matching("Cargo.toml")}
    timed = [file for file, manifest in manifests.items() if "criterion" in _needs(manifest)]
    if timed:
        yield Proposal(
            "benchmark",
            "cargo bench --offline",
            "criterion",
            f"{timed[0]} depends on criterion",
            "geomean(*)",
            "lower_is_better",
            rank=1,
        )
        yield Proposal("prepare", "cargo bench --offline --no-run", why="Cargo.toml")
    yield Proposal("guard", "cargo test --offline -q", why="Cargo.toml", rank=1)
    locked = " --locked" if site.has("Cargo.lock") else ""
    yield Proposal("deps", f"cargo fetch{locked}", why="Cargo.toml")
    yield Proposal("prepare_cache", "target/", why="Cargo builds there")


def _needs(manifest: dict[str, Any]) -> set[str]:
    tables = ("dependencies", "dev-dependencies")
    found = [manifest.get(name) for name in tables]
    workspace = manifest.get("workspace")
    if isinstance(workspace, dict):
        found += [workspace.get(name) for name in tables]
    return {name for table in found if isinstance(table, dict) for name in table}


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}
