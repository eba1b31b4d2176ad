"""A benchmark that uses a GPU outside the room is not measured without one inside.

No GPU is let in unless `sandbox.devices` names it. The libraries that use one fall back to the
processor in silence, so the baseline and every candidate would be measured on the wrong machine.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from selfimprove.errors import ConfigError
from selfimprove.vcs.quarantine import Quarantine

NODES = ("nvidia[0-9]*", "kfd")
"""Below /dev: NVIDIA's and AMD's for computing. Nodes for graphics alone are on every laptop."""
BESIDE = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "dri/renderD*")
"""What such a GPU is used through, too."""
SWITCHES = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
LIBRARIES = "torch|tensorflow|jax|cupy|cudf|pycuda|pyopencl|triton|numba\\.cuda"
USES = rf"^[[:space:]]*(import|from)[[:space:]]+({LIBRARIES})([^[:alnum:]_]|$)"


def check_gpus(quarantine: Quarantine, base: str, devices: list[str], dev: Path) -> None:
    """Raise ConfigError where `dev` has a GPU, the base commit uses one, and none is let in.

    A person whose own environment switches GPUs off sees none outside either.
    """
    found = sorted(str(node) for pattern in NODES for node in dev.glob(pattern))
    if not found or set(found) & set(devices) or switched_off(os.environ):
        return
    user = _first_user(quarantine, base)
    if user:
        beside = sorted(str(node) for pattern in BESIDE for node in dev.glob(pattern))
        raise ConfigError(
            f"{user} uses a GPU, this machine has {found[0]}, and the benchmark would see none: "
            "what it measured would be the processor",
            f"set sandbox.devices to {json.dumps([*found, *beside])}, or CUDA_VISIBLE_DEVICES to "
            "-1 in your environment to measure without",
        )


def switched_off(environ: Mapping[str, str]) -> bool:
    """Whether an environment hides every GPU from the programs run in it."""
    return any(environ.get(name, "all").strip() in ("", "-1") for name in SWITCHES)


def _first_user(quarantine: Quarantine, base: str) -> str:
    """A Python file of the commit that imports what computes on GPUs; empty where none does."""
    args = ("grep", "-I", "-l", "-E", "-e", USES, base, "--", "*.py")
    answer = quarantine.git.attempt(*args, env={"GIT_LITERAL_PATHSPECS": "0"})
    names = answer.stdout.decode("utf-8", "replace").splitlines()
    return names[0].partition(":")[2] if names else ""
