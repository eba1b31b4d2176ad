"""Real repositories under tmp_path, made with the git on PATH and no one's configuration."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from selfimprove.vcs.quarantine import Quarantine
from selfimprove.vcs.target import Target, open_target

from .gitrepo import commit, sh, write


@pytest.fixture(autouse=True)
def _own_git_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "users.gitconfig"
    config.write_text(
        "[user]\nname = Ann\nemail = ann@example.org\n[init]\ndefaultBranch = main\n"
        '[protocol "file"]\nallow = always\n'
    )
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A small repository: two folders, an executable, a symlink, a .gitignore."""
    root = tmp_path / "user"
    root.mkdir()
    sh(root, "init", "-q")
    write(root, {"bench/run.sh": "#!/bin/sh\necho 1\n"})
    (root / "bench/run.sh").chmod(0o755)
    (root / "link").symlink_to("src/app.py")
    commit(
        root,
        {"src/app.py": "X = 1\n", "src/util.py": "Y = 2\n", ".gitignore": "*.log\nbuild/\n"},
        "first",
    )
    return root


@pytest.fixture
def target(repo: Path) -> Target:
    return open_target(repo)


@pytest.fixture
def quarantine(tmp_path: Path, target: Target) -> Quarantine:
    return Quarantine.open(tmp_path / "cache" / "q.git", target)


@pytest.fixture
def reopen(tmp_path: Path) -> Callable[[Path], Quarantine]:
    """Open a quarantine for any repository."""

    def made(root: Path) -> Quarantine:
        return Quarantine.open(tmp_path / "cache" / f"{root.name}.git", open_target(root))

    return made
