"""JavaScript and TypeScript: npm scripts, node_modules."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from selfimprove.setup.guess import format_of_script
from selfimprove.setup.proposal import Proposal, Site

_LOCKS = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lockb": "bun", "bun.lock": "bun"}
_BENCH = ("bench", "benchmark", "benchmarks", "perf")


def propose(site: Site) -> Iterator[Proposal]:
    """What a package.json offers."""
    for folder in (".", *_workspaces(site)):
        if site.has(f"{folder}/node_modules"):
            path = f"{folder}/node_modules".removeprefix("./")
            yield Proposal("provide", path, why="installed packages beside the code")
    scripts = _scripts(site)
    runner = next((tool for lock, tool in _LOCKS.items() if site.has(lock)), "npm")
    quiet = {"npm": " --silent", "pnpm": " --silent", "yarn": " -s"}.get(runner, "")
    for name in scripts:
        if name in _BENCH or name.partition(":")[0] in _BENCH:
            yield Proposal(
                "benchmark",
                f"{runner} run{quiet} {name}",
                format_of_script(scripts[name]),
                f"package.json has the script {name!r}",
                rank=2 + (name not in _BENCH),
            )
    if "test" in scripts and "no test specified" not in scripts["test"]:
        yield Proposal(
            "guard", f"{runner} run{quiet} test", why="package.json has a test script", rank=1
        )
    if site.has("package-lock.json") and not site.has("node_modules"):
        yield Proposal("deps", "npm ci", why="package-lock.json, and no node_modules")


def _scripts(site: Site) -> Mapping[str, str]:
    try:
        package = json.loads(site.text("package.json") or "{}")
    except ValueError:
        return {}
    scripts = package.get("scripts") if isinstance(package, dict) else None
    if not isinstance(scripts, dict):
        return {}
    return {name: text for name, text in scripts.items() if isinstance(text, str)}


def _workspaces(site: Site) -> list[str]:
    """Folders of further package.json files, at most two deep."""
    found = (file.rpartition("/")[0] for file in site.matching("package.json"))
    return [folder for folder in found if folder and folder.count("/") < 2]
