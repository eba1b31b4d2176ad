"""Toolchains below HOME, workspaces and services: the candidate is measured, in the room.

As in `test_environments.py`, the checkout holds the value 100 all along, the candidate 40.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from selfimprove.testing import Repository, build_repository, goal_text

from .conftest import Ran, Start

pytestmark = pytest.mark.long
At = Callable[[str], None]
Env = pytest.MonkeyPatch
OUTER_HOME = os.environ.get("HOME", "")
"""Of whoever runs the tests: rustup looks there for what is chosen."""


@pytest.fixture(autouse=True)
def with_mounts(at_level: At) -> None:
    at_level("bubblewrap")


def home() -> Path:
    return Path(os.environ["HOME"])


def first_on_path(folder: Path, monkeypatch: Env) -> None:
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def merged(ran: Ran) -> None:
    assert ran.code == 0, ran.err
    report = ran.document("state/merge_reports/round_1.json")
    assert report["status"] == "merged", report
    assert (report["winner"]["score_before"], report["winner"]["score_after"]) == (100, 40)
    found = ran.document("state/results/round_1/executor_1.json")
    assert found["benchmark_score"] == 40
    assert found["measurement"]["fingerprint"]["level"] == "bubblewrap"


# --- Python ---

BENCH = """import json
import sys
sys.path.insert(0, "src")
import pkg.value
assert sys.prefix == %r, sys.prefix
print(json.dumps({"score": pkg.value.VALUE}))
"""


def copied_interpreter(prefix: Path) -> Path:
    """A whole Python of its own below HOME, as pyenv builds and uv unpacks them."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    library = Path(sysconfig.get_path("stdlib"))
    skipped = ("test", "tests", "site-packages", "dist-packages", "__pycache__", "config-*")
    shutil.copytree(library, prefix / "lib" / version, ignore=shutil.ignore_patterns(*skipped))
    binary = prefix / "bin" / "python3"
    binary.parent.mkdir()
    base = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
    shutil.copy(base, binary)
    shared = sysconfig.get_config_var("LDLIBRARY")
    there = Path(sysconfig.get_config_var("LIBDIR") or "/nowhere") / (shared or "nothing")
    if there.suffix == ".so" and there.is_file():
        shutil.copy(os.path.realpath(there), prefix / "lib" / there.name)
    return binary


def test_a_python_of_its_own_below_home(tmp_path: Path, start: Start, monkeypatch: Env) -> None:
    prefix = home() / ".local" / "share" / "uv" / "python" / "cpython-3"
    binary = copied_interpreter(prefix)
    link = home() / ".local" / "bin" / "python"
    link.parent.mkdir(parents=True)
    link.symlink_to(binary)
    first_on_path(link.parent, monkeypatch)
    done = subprocess.run([link, "-c", "import sys; print(sys.prefix)"], capture_output=True)
    if done.stdout.decode().strip() != str(prefix):
        pytest.skip("the interpreter of these tests does not run from another place")
    files = {
        "src/pkg/__init__.py": "",
        "src/pkg/value.py": "VALUE = 100\n",
        "bench.py": BENCH % str(prefix),
    }
    merged(start(build_repository(tmp_path / "my target", files, goal_text("python bench.py"))))


# --- Rust ---


def cargo_home() -> Path:
    """`~/.cargo/bin` with a real cargo and rustc, wherever this machine has them."""
    rustc = shutil.which("rustc")
    if rustc is None or shutil.which("cargo") is None:
        pytest.skip("cargo is not installed here")
    argv, env = [rustc, "--print", "sysroot"], os.environ | {"HOME": OUTER_HOME}
    asked = subprocess.run(argv, env=env, capture_output=True, text=True)
    folder = Path(asked.stdout.strip()) / "bin"
    if not (folder / "cargo").is_file():
        pytest.skip(f"no toolchain is chosen here: {asked.stderr.strip()[:80]}")
    place = home() / ".cargo" / "bin"
    place.mkdir(parents=True)
    for name in ("cargo", "rustc"):
        (place / name).symlink_to(folder / name)
    return place


def test_cargo_below_home(tmp_path: Path, start: Start, monkeypatch: Env) -> None:
    place = cargo_home()
    for name in ("CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"):
        monkeypatch.delenv(name, raising=False)
    first_on_path(place, monkeypatch)
    (home() / ".cargo" / "credentials.toml").write_text("token = 'secret'\n")
    files = {
        "Cargo.toml": '[package]\nname = "pkg"\nversion = "1.0.0"\nedition = "2021"\n',
        "Cargo.lock": 'version = 3\n\n[[package]]\nname = "pkg"\nversion = "1.0.0"\n',
        "src/main.rs": 'fn main() {\n    println!("{{\\"score\\": 100}}");\n}\n',
        "bench.sh": "test ! -s ~/.cargo/credentials.toml && exec ./target/release/pkg\n",
        ".gitignore": "target/\n",
    }
    monkeypatch.setenv("SELFIMPROVE_PREPARE_COMMAND", "cargo build --release --offline --locked")
    monkeypatch.setenv("SELFIMPROVE_PREPARE_CACHE", '["target"]')
    merged(start(build_repository(tmp_path / "my target", files, goal_text("sh bench.sh"))))


# --- JavaScript ---


def test_an_npm_workspace(tmp_path: Path, start: Start) -> None:
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed here")
    files = {
        "package.json": '{"name": "all", "private": true, "workspaces": ["packages/*"]}\n',
        "packages/lib/package.json": '{"name": "lib", "version": "1.0.0", "main": "index.js"}\n',
        "packages/lib/index.js": "module.exports = 100;\n",
        "packages/app/package.json": '{"name": "app", "version": "1.0.0", "bin": "main.js",'
        ' "dependencies": {"lib": "1.0.0"}}\n',
        "packages/app/main.js": "#!/usr/bin/env node\n"
        "console.log(JSON.stringify({score: require('lib')}));\n",
        ".gitignore": "node_modules/\n",
    }
    goal = goal_text("npm exec --offline --no app", "packages/lib/")
    repository = build_repository(tmp_path / "my target", files, goal)
    npm(repository, "install", "--offline", "--no-audit", "--no-fund", "--no-package-lock")
    repository.git("commit", "--quiet", "-am", "npm makes it executable")
    assert (repository.path / "node_modules" / "lib").is_symlink()
    merged(start(repository))


def npm(repository: Repository, *words: str) -> None:
    subprocess.run(["npm", *words], cwd=repository.path, check=True, capture_output=True)


# --- a service ---

QUERY = """import json
import subprocess
import sys
sys.path.insert(0, "src")
import pkg.value

def ask(text):
    words = ["psql", "-h", "/tmp", "-U", "me", "-At", "-c", text, "postgres"]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()

assert ask("select count(*) from seen") == "1"
ask("insert into seen values (2)")
print(json.dumps({"score": float(ask(f"select {pkg.value.VALUE} * sum(id) / 3 from seen"))}))
"""
SERVICE = {
    "name": "db",
    "start": "postgres -D db -k /tmp -c listen_addresses= -c fsync=off",
    "ready": "pg_isready -q -h /tmp",
    "reset": "psql -h /tmp -U me -q -f fixture.sql postgres",
    "stop": "pg_ctl -D db stop -m fast",
}


def postgres() -> Path:
    """The folder of the server's programs; Debian keeps them off PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found or shutil.which("psql") is None:
        pytest.skip("PostgreSQL is not installed here")
    return found[-1].parent


@pytest.mark.timeout(300)
def test_a_database_that_the_benchmark_needs(
    tmp_path: Path, start: Start, monkeypatch: Env
) -> None:
    first_on_path(postgres(), monkeypatch)
    files = {
        "src/pkg/__init__.py": "",
        "src/pkg/value.py": "VALUE = 100\n",
        "bench.py": QUERY,
        "fixture.sql": "drop table if exists seen; create table seen (id int);\n"
        "insert into seen values (1);\n",
        ".gitignore": "db/\n",
    }
    prepare = "initdb -D db -U me -A trust -E UTF8 --no-sync"
    monkeypatch.setenv("SELFIMPROVE_PREPARE_COMMAND", prepare)
    monkeypatch.setenv("SELFIMPROVE_SERVICES", json.dumps([SERVICE]))
    goal = goal_text("python3 bench.py")
    ran = start(build_repository(tmp_path / "my target", files, goal))
    merged(ran)
    said = "".join(log.read_text() for log in (ran.root / "logs").rglob("*.services.log"))
    assert "database system is ready to accept connections" in said
    assert "database system is shut down" in said
