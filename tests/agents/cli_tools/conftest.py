from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from filelock import FileLock

PACKAGES = ("@anthropic-ai/claude-code@2.1.197", "@openai/codex@0.169.0")
SECONDS = 300


@pytest.fixture(scope="session")
def real_clis() -> Path:
    """Where the real programs are installed from npm, once for all tests of this machine."""
    folder = Path(tempfile.gettempdir()) / f"selfimprove-clis-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    with FileLock(folder / "lock"):
        mark = folder / "installed"
        if not mark.exists() or mark.read_text() != "\n".join(PACKAGES):
            options = ("--no-audit", "--no-fund", "--loglevel=error", "--prefix", str(folder))
            try:
                done = subprocess.run(
                    ["npm", "install", *options, *PACKAGES],
                    capture_output=True,
                    text=True,
                    timeout=SECONDS,
                    cwd=folder,
                )
            except subprocess.TimeoutExpired:
                pytest.skip(f"npm did not install {' '.join(PACKAGES)} within {SECONDS} s")
            if done.returncode != 0:
                pytest.skip(f"npm cannot install {' '.join(PACKAGES)}: {done.stderr[-300:]}")
            mark.write_text("\n".join(PACKAGES))
    return folder / "node_modules/.bin"


@pytest.fixture
def installed(real_clis: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The real programs, on PATH."""
    monkeypatch.setenv("PATH", f"{real_clis}{os.pathsep}{os.environ['PATH']}")
    return real_clis
