"""A few rounds of `make misbehaving`: nothing may be left of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from selfimprove.room.isolation import probe

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "misbehaving.py"


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.skipif(probe("auto").level != "bubblewrap", reason="no user namespaces here")
def test_nothing_is_left_of_a_few_rounds(tmp_path: Path) -> None:
    words = [sys.executable, SCRIPT, "--rounds", "4", "--kills", "1", "--seed", "7"]
    env = os.environ | {"TMPDIR": str(tmp_path)}
    done = subprocess.run(words, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing is left" in done.stdout
    assert list(tmp_path.iterdir()) == []
