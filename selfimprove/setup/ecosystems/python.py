"""Python: pytest-benchmark, pyperf, bench*.py; pytest or unittest; virtual environments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from selfimprove.setup.guess import direction_of, printed_metric
from selfimprove.setup.proposal import Proposal, Site

_MANIFESTS = ("pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "Pipfile")
_FIXTURE = re.compile(r"^\s*(?:async )?def test_\w*\([^)]*\bbenchmark\b", re.MULTILINE)


def propose(site: Site) -> Iterator[Proposal]:
    """What a Python project offers."""
    environment = _environment(site)
    if environment:
        yield Proposal("provide", environment, why="a virtual environment beside the code")
    if not site.matching("*.py"):
        return
    python = f"{environment}/bin/python" if environment else _python(site)
    tests = [file for file in site.matching("test_*.py", "*_test.py") if site.text(file)]
    timed = [
        file for file in tests + site.matching("bench*.py") if _FIXTURE.search(site.text(file))
    ]
    if timed:
        yield Proposal(
            "benchmark",
            f"{python} -m pytest -q {' '.join(_folders(timed))} --benchmark-only "
            "--benchmark-json={result}",
            "pytest-benchmark",
            f"{timed[0]} uses the benchmark fixture of pytest-benchmark",
            "geomean(*)",
            "lower_is_better",
            rank=1,
        )
    yield from _scripts(site, python, timed)
    yield from _guard(site, python, tests, bool(timed))


def _environment(site: Site) -> str:
    for name in (".venv", "venv", "env"):
        if site.has(f"{name}/pyvenv.cfg"):
            return name
    return ""


def _python(site: Site) -> str:
    return "python" if site.which("python") or not site.which("python3") else "python3"


def _scripts(site: Site, python: str, timed: list[str]) -> Iterator[Proposal]:
    """`bench*.py` that is run by itself."""
    for file in site.matching("bench*.py", "*_bench.py", "perf_*.py"):
        text = site.text(file)
        if (
            file in timed
            or "/tests/" in f"/{file}"
            or not re.search(r"\bprint\(|pyperf|write\(", text)
        ):
            continue
        if re.search(r"^\s*(?:import|from) pyperf", text, re.MULTILINE):
            yield Proposal(
                "benchmark",
                f'{python} {file} -q -o "$TMPDIR/r.json" >&2 && cat "$TMPDIR/r.json"',
                "pyperf",
                f"{file} uses pyperf",
                "geomean(*)",
                "lower_is_better",
                rank=2,
            )
            continue
        metric = printed_metric(text)
        as_json = bool(metric) or "json.dump" in text
        yield Proposal(
            "benchmark",
            f"{python} {file}",
            "json" if as_json else "number",
            f"{file} is a script that prints " + ("JSON" if as_json else "something"),
            metric,
            direction_of(metric),
            rank=3 + file.count("/"),
        )


def _guard(site: Site, python: str, tests: list[str], timed: bool) -> Iterator[Proposal]:
    said = [
        name for name in (*_MANIFESTS, "pytest.ini", "conftest.py") if "pytest" in site.text(name)
    ]
    if (
        said
        or any("import pytest" in site.text(file) for file in tests[:50])
        or _plain_tests(site, tests)
    ):
        skip = " --benchmark-skip" if timed else ""
        why = (
            f"{said[0]} names pytest" if said else f"{tests[0]} holds tests" if tests else "pytest"
        )
        yield Proposal("guard", f"{python} -m pytest -q{skip}", why=why, rank=1)
    elif any("unittest" in site.text(file) for file in tests[:50]):
        yield Proposal(
            "guard", f"{python} -m unittest discover -q", why=f"{tests[0]} uses unittest", rank=2
        )


def _plain_tests(site: Site, tests: list[str]) -> bool:
    return any(re.search(r"^def test_", site.text(file), re.MULTILINE) for file in tests[:50])


def _folders(files: list[str]) -> list[str]:
    """The folders of the files, or the files themselves at the top."""
    found = (PurePosixPath(file) for file in files)
    return sorted({str(path.parent) if len(path.parts) > 1 else str(path) for path in found})
