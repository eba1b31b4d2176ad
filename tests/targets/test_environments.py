"""What lies beside the code and points back into it: the candidate is measured, not the checkout.

The checkout holds the value 100 all along, the candidate 40. A run that measured the checkout
would see 100 twice and merge nothing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from selfimprove.testing import Repository, build_repository, goal_text

from .conftest import Ran, Start

PYPROJECT = """[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "pkg"
version = "1.0"
[tool.hatch.build.targets.wheel]
packages = ["src/pkg"]
"""
BENCH = """import json
import pkg.value
print(json.dumps({"score": pkg.value.VALUE}))
"""
PYTHON_FILES = {
    "src/pkg/__init__.py": "",
    "src/pkg/value.py": "VALUE = 100\n",
    "bench.py": BENCH,
    "pyproject.toml": PYPROJECT,
    ".gitignore": ".venv/\nnode_modules/\n__pycache__/\n",
}
FINDER = """import sys
from importlib.machinery import PathFinder
from importlib.util import spec_from_file_location
MAPPING = {'pkg': %r}
class Finder:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        top = MAPPING.get(name)
        return top and spec_from_file_location(
            name, top + '/__init__.py', submodule_search_locations=[top])
def install():
    sys.meta_path.append(Finder)
"""
At = Callable[[str], None]


def python_target(tmp_path: Path, command: str = ".venv/bin/python bench.py") -> Repository:
    return build_repository(tmp_path / "my target", PYTHON_FILES, goal_text(command))


def environment(repository: Repository) -> Path:
    """A virtual environment beside the code; gives its site-packages."""
    place = repository.path / ".venv"
    venv.create(place, symlinks=True, with_pip=False)
    return next(place.glob("lib/python*/site-packages"))


def by_path_file(repository: Repository) -> None:
    """As `pip install -e` by hatchling, flit or pdm leaves it."""
    source = repository.path / "src"
    (environment(repository) / "_editable_impl_pkg.pth").write_text(f"{source}\n")


def by_finder(repository: Repository) -> None:
    """As `pip install -e` by setuptools leaves it."""
    site = environment(repository)
    source = str(repository.path / "src" / "pkg")
    (site / "__editable___pkg_1_0_finder.py").write_text(FINDER % source)
    hook = "import __editable___pkg_1_0_finder as f; f.install()\n"
    (site / "__editable__.pkg-1.0.pth").write_text(hook)


def by_pip(repository: Repository) -> None:
    """A real `pip install -e .`, with pip and the build backend of the tests' own environment."""
    pytest.importorskip("hatchling", reason="the build backend is not installed here")
    pytest.importorskip("pip", reason="pip is not installed here")
    environment(repository)
    python = repository.path / ".venv" / "bin" / "python"
    command = [python, "-m", "pip", "install", "--quiet", "--no-index", "--no-build-isolation"]
    command += ["--no-deps", "--disable-pip-version-check", "--editable", "."]
    env = os.environ | {"PYTHONPATH": sysconfig.get_path("purelib")}
    subprocess.run(command, cwd=repository.path, env=env, check=True)
    assert not repository.git("status", "--porcelain")


def candidate_was_measured(ran: Ran, provided: str) -> None:
    """One win from 100 to 40, and what was provided for it is said in the settings."""
    assert ran.code == 0, ran.err
    report = ran.document("state/merge_reports/round_1.json")
    assert report["status"] == "merged", report
    assert report["winner"]["score_before"] == 100
    assert report["winner"]["score_after"] == 40
    assert ran.document("state/results/round_1/executor_1.json")["benchmark_score"] == 40
    assert [one["path"] for one in ran.document("config/settings.json")["provide"]] == [provided]


def test_a_checkout_s_own_environment_imports_the_checkout(tmp_path: Path) -> None:
    """What the tests below rely on: outside, these environments lead to the checkout."""
    for make in (by_path_file, by_finder):
        repository = python_target(tmp_path / make.__name__)
        make(repository)
        python = repository.path / ".venv" / "bin" / "python"
        done = subprocess.run([python, "-c", BENCH], cwd="/", capture_output=True, check=True)
        assert b"100" in done.stdout


@pytest.mark.parametrize("install", [by_path_file, pytest.param(by_finder, marks=pytest.mark.long)])
def test_an_editable_install_of_the_target_itself(
    tmp_path: Path, start: Start, at_level: At, install: Callable[[Repository], None]
) -> None:
    at_level("bubblewrap")
    repository = python_target(tmp_path)
    install(repository)
    candidate_was_measured(start(repository), ".venv")


@pytest.mark.long
def test_a_real_editable_install(tmp_path: Path, start: Start, at_level: At) -> None:
    at_level("bubblewrap")
    repository = python_target(tmp_path)
    by_pip(repository)
    candidate_was_measured(start(repository), ".venv")


@pytest.mark.parametrize("level", ["reduced", "off"])
@pytest.mark.parametrize("install", [by_path_file, by_finder])
def test_without_mounts_an_editable_install_is_refused(
    tmp_path: Path, start: Start, at_level: At, install: Callable[[Repository], None], level: str
) -> None:
    at_level(level)
    repository = python_target(tmp_path)
    install(repository)
    ran = start(repository)
    assert ran.code == 3
    assert "points back into your checkout" in ran.error
    assert "install bubblewrap" in ran.error
    assert "without -e" in ran.error
    assert not (ran.root / "state" / "results").exists()


@pytest.mark.parametrize("level", ["bubblewrap", pytest.param("reduced", marks=pytest.mark.long)])
def test_an_environment_that_only_holds_what_others_wrote(
    tmp_path: Path, start: Start, at_level: At, level: str
) -> None:
    at_level(level)
    bench = "import sys; sys.path.insert(0, 'src')\nimport dep\n" + BENCH
    repository = python_target(tmp_path)
    repository.commit({"bench.py": bench})
    (environment(repository) / "dep.py").write_text("")
    candidate_was_measured(start(repository), ".venv")


# --- JavaScript ---

NODE_BENCH = "console.log(JSON.stringify({score: require('lib')}));\n"
NODE_FILES = {
    "package.json": '{"private": true, "workspaces": ["packages/*"]}\n',
    "packages/lib/package.json": '{"name": "lib", "version": "1.0.0", "main": "index.js"}\n',
    "packages/lib/index.js": "module.exports = 100;\n",
    "bench.js": NODE_BENCH,
    ".gitignore": "node_modules/\n",
}


def node_target(tmp_path: Path) -> Repository:
    """A workspace as `npm install` leaves it: its own packages are links in node_modules."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed here")
    goal = goal_text("node bench.js", "packages/")
    repository = build_repository(tmp_path / "my target", NODE_FILES, goal)
    modules = repository.path / "node_modules"
    modules.mkdir()
    (modules / "lib").symlink_to("../packages/lib")
    return repository


def test_workspace_links(tmp_path: Path, start: Start, at_level: At) -> None:
    at_level("bubblewrap")
    candidate_was_measured(start(node_target(tmp_path)), "node_modules")


@pytest.mark.parametrize("level", ["reduced", "off"])
def test_without_mounts_workspace_links_are_refused(
    tmp_path: Path, start: Start, at_level: At, level: str
) -> None:
    at_level(level)
    ran = start(node_target(tmp_path))
    assert ran.code == 3
    assert "points back into your checkout" in ran.error
    assert "install bubblewrap" in ran.error


# --- interpreters below HOME ---


def base_python() -> Path:
    return Path(os.path.realpath(getattr(sys, "_base_executable", sys.executable)))


def pyenv_like(home: Path) -> Path:
    """`~/.pyenv/shims/python` is a script that finds the interpreter below PYENV_ROOT."""
    shim = home / ".pyenv" / "shims" / "python"
    real = home / ".pyenv" / "versions" / "3" / "bin" / "python"
    for file in (shim, real):
        file.parent.mkdir(parents=True)
    real.symlink_to(base_python())
    shim.write_text('#!/bin/sh\nexec "${PYENV_ROOT:-$HOME/.pyenv}/versions/3/bin/python" "$@"\n')
    shim.chmod(0o755)
    return shim.parent


def uv_like(home: Path) -> Path:
    """`~/.local/bin/python` is a link to an interpreter that uv keeps."""
    real = home / ".local" / "share" / "uv" / "python" / "cpython-3" / "bin" / "python3"
    link = home / ".local" / "bin" / "python"
    for file in (real, link):
        file.parent.mkdir(parents=True)
    real.symlink_to(base_python())
    link.symlink_to(real)
    return link.parent


@pytest.mark.parametrize("make", [pyenv_like, pytest.param(uv_like, marks=pytest.mark.long)])
def test_an_interpreter_below_home_is_found(
    tmp_path: Path,
    start: Start,
    at_level: At,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[Path], Path],
) -> None:
    at_level("bubblewrap")
    for name in ("PYENV_ROOT", "UV_PYTHON_INSTALL_DIR", "VIRTUAL_ENV"):
        monkeypatch.delenv(name, raising=False)
    folder = make(Path(os.environ["HOME"]))
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    bench = "import sys; sys.path.insert(0, 'src')\n" + BENCH
    repository = python_target(tmp_path, "python bench.py")
    repository.commit({"bench.py": bench})
    ran = start(repository)
    assert ran.code == 0, ran.err
    assert ran.document("state/merge_reports/round_1.json")["winner"]["score_after"] == 40


def test_an_environment_made_by_an_interpreter_below_home(
    tmp_path: Path, start: Start, at_level: At
) -> None:
    """As `uv venv` leaves it: the environment's python is a link to uv's own."""
    at_level("bubblewrap")
    repository = python_target(tmp_path)
    by_path_file(repository)
    home = Path(os.environ["HOME"])
    uv_like(home)
    real = home / ".local" / "share" / "uv" / "python" / "cpython-3" / "bin"
    python = repository.path / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to(real / "python3")
    settings = repository.path / ".venv" / "pyvenv.cfg"
    lines = [row for row in settings.read_text().splitlines() if not row.startswith("home")]
    settings.write_text("\n".join([f"home = {real}", *lines]) + "\n")
    candidate_was_measured(start(repository), ".venv")
