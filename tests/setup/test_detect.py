from __future__ import annotations

import json
from pathlib import Path

import pytest

from selfimprove.setup.detect import detect, of_kind
from selfimprove.setup.proposal import Kind, Proposal


def repository(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def found(root: Path, kind: Kind) -> list[Proposal]:
    return of_kind(detect(root, which=lambda name: f"/usr/bin/{name}"), kind)


def test_pytest_benchmark_in_a_virtual_environment(tmp_path: Path) -> None:
    repository(
        tmp_path,
        {
            "pyproject.toml": "[tool.pytest.ini_options]\n",
            "pkg/core.py": "x = 1\n",
            "tests/test_speed.py": "def test_it(benchmark):\n    benchmark(len, [])\n",
            ".venv/pyvenv.cfg": "home = /usr\n",
            ".venv/lib/bench_not_me.py": "print(1)\n",
        },
    )
    [bench] = found(tmp_path, "benchmark")
    assert bench.format == "pytest-benchmark"
    assert bench.command == (
        ".venv/bin/python -m pytest -q tests --benchmark-only --benchmark-json={result}"
    )
    [guard] = found(tmp_path, "guard")
    assert guard.command == ".venv/bin/python -m pytest -q --benchmark-skip"
    assert [one.command for one in found(tmp_path, "provide")] == [".venv"]
    assert [one.command for one in found(tmp_path, "scope")] == ["pkg/"]


@pytest.mark.parametrize(
    ("name", "text", "fmt", "metric", "direction"),
    [
        (
            "bench.py",
            'import json\nprint(json.dumps({"n": 3, "p95_ms": 1}))',
            "json",
            "p95_ms",
            "lower",
        ),
        ("bench.py", 'import json\nr = {"ops": 3}\nprint(json.dumps(r))', "json", "ops", "higher"),
        ("benchmarks/bench_all.py", "print(1.5)", "number", "", None),
        ("bench_it.py", "import pyperf\npyperf.Runner()", "pyperf", "geomean(*)", "lower"),
    ],
)
def test_python_scripts(
    tmp_path: Path, name: str, text: str, fmt: str, metric: str, direction: str | None
) -> None:
    [bench] = found(repository(tmp_path, {name: text}), "benchmark")
    assert (bench.format, bench.metric) == (fmt, metric)
    assert (bench.direction or "").partition("_")[0] == (direction or "")
    assert f"python {name}" in bench.command


def test_unittest_where_nothing_names_pytest(tmp_path: Path) -> None:
    files = {"test_a.py": "import unittest\nclass T(unittest.TestCase):\n    pass\n"}
    [guard] = found(repository(tmp_path, files), "guard")
    assert guard.command == "python -m unittest discover -q"


def test_make_and_just(tmp_path: Path) -> None:
    makefile = "CC := gcc\n.PHONY: bench test\nbench: build\n\t./run --json\n\ntest:\n\t./check\n"
    repository(tmp_path, {"Makefile": makefile, "justfile": "bench:\n  hyperfine ./x\n"})
    assert [(one.command, one.format) for one in found(tmp_path, "benchmark")] == [
        ("make -s bench", "json"),
        ("just -q bench", "hyperfine"),
    ]
    assert [one.command for one in found(tmp_path, "guard")] == ["make -s test"]


def test_npm(tmp_path: Path) -> None:
    scripts = {"bench": "node b.js", "bench:big": "node b.js 9", "test": "node --test"}
    files = {"package.json": json.dumps({"scripts": scripts}), "packages/a/package.json": "{}"}
    repository(tmp_path, files)
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "packages/a/node_modules").mkdir()
    assert [one.command for one in found(tmp_path, "benchmark")] == [
        "npm run --silent bench",
        "npm run --silent bench:big",
    ]
    assert found(tmp_path, "guard")[0].command == "npm run --silent test"
    provided = {one.command for one in found(tmp_path, "provide")}
    assert provided == {"node_modules", "packages/a/node_modules"}


def test_npm_without_tests_or_with_damaged_json(tmp_path: Path) -> None:
    text = json.dumps({"scripts": {"test": 'echo "Error: no test specified" && exit 1'}})
    assert found(repository(tmp_path, {"package.json": text}), "guard") == []
    assert detect(repository(tmp_path, {"package.json": "{"})) == []


def test_cargo(tmp_path: Path) -> None:
    manifest = '[package]\nname = "x"\n[dev-dependencies]\ncriterion = "0.5"\n'
    repository(tmp_path, {"Cargo.toml": manifest, "Cargo.lock": "", "src/lib.rs": ""})
    [bench] = found(tmp_path, "benchmark")
    assert (bench.command, bench.format) == ("cargo bench --offline", "criterion")
    assert found(tmp_path, "deps")[0].command == "cargo fetch --locked"
    assert found(tmp_path, "prepare_cache")[0].command == "target/"
    assert found(repository(tmp_path, {"Cargo.toml": "["}), "benchmark") == []


def test_go(tmp_path: Path) -> None:
    test = "package x\nfunc BenchmarkSort(b *testing.B) {}\n"
    repository(tmp_path, {"go.mod": "module x\n", "x_test.go": test, "x.go": "package x\n"})
    [bench] = found(tmp_path, "benchmark")
    assert (bench.format, bench.metric) == ("go-bench", "BenchmarkSort")
    assert found(tmp_path, "guard")[0].command == "go test ./..."
    assert [one.command for one in found(tmp_path, "scope")] == ["x.go"]


def test_scripts(tmp_path: Path) -> None:
    call = "#!/bin/sh\nhyperfine --warmup 2 \\\n  --export-json out.json './x 1'\n"
    repository(tmp_path, {"scripts/speed.sh": call, "bench.sh": "#!/usr/bin/env bash\n./x\n"})
    assert [(one.command, one.format) for one in found(tmp_path, "benchmark")] == [
        ("hyperfine --warmup 2 './x 1' --export-json {result}", "hyperfine"),
        ("bash bench.sh", "json"),
    ]


def test_an_empty_folder_offers_nothing(tmp_path: Path) -> None:
    assert detect(tmp_path) == []
