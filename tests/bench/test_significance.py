"""The figures of benchmarks/significance.py, on fewer rounds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "significance.py"


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.skipif(not SCRIPT.exists(), reason="the benchmarks are not part of a source package")
def test_wrong_merges_power_and_honesty_stay_within_their_limits():
    done = subprocess.run(
        [sys.executable, SCRIPT, "--quick"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
