from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from filelock import FileLock

BOTH = ("@anthropic-ai/claude-code@2.1.197", "@openai/codex@0.169.0")
OPENCODE = ("opencode-ai@1.18.33",)
SECONDS = 300


def from_npm(packages: tuple[str, ...]) -> Path:
    """Where the programs of these packages are, installed once for all tests of this machine."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    name = hashlib.sha256(" ".join(packages).encode()).hexdigest()[:8]
    folder = Path(tempfile.gettempdir()) / f"selfimprove-clis-{os.getuid()}-{name}"
    folder.mkdir(exist_ok=True)
    mark = folder / "installed"
    with FileLock(folder / "lock"):
        if not mark.exists():
            options = ("--no-audit", "--no-fund", "--loglevel=error", "--prefix", str(folder))
            argv = ["npm", "install", *options, *packages]
            try:
                done = subprocess.run(
                    argv, capture_output=True, text=True, timeout=SECONDS, cwd=folder
                )
            except subprocess.TimeoutExpired:
                pytest.skip(f"npm did not install {' '.join(packages)} within {SECONDS} s")
            if done.returncode != 0:
                pytest.skip(f"npm cannot install {' '.join(packages)}: {done.stderr[-300:]}")
            mark.touch()
    return folder / "node_modules/.bin"


@pytest.fixture(scope="session")
def real_clis() -> Path:
    return from_npm(BOTH)


@pytest.fixture
def installed(real_clis: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The real Claude Code and Codex, on PATH."""
    monkeypatch.setenv("PATH", f"{real_clis}{os.pathsep}{os.environ['PATH']}")
    return real_clis


@pytest.fixture
def opencode(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The real OpenCode, on PATH."""
    folder = from_npm(OPENCODE)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder
