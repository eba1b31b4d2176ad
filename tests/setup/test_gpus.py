"""A GPU that the target uses and the room does not let in is told before anything is measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from selfimprove.errors import ConfigError
from selfimprove.setup.gpus import check_gpus, switched_off
from selfimprove.testing import build_repository
from selfimprove.vcs.quarantine import Quarantine
from selfimprove.vcs.target import open_target

NODES = ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "dri/renderD128")


def machine(tmp_path: Path, *nodes: str) -> Path:
    """A folder in place of /dev."""
    dev = tmp_path / "dev"
    for node in nodes:
        (dev / node).parent.mkdir(parents=True, exist_ok=True)
        (dev / node).touch()
    dev.mkdir(exist_ok=True)
    return dev


def clone(tmp_path: Path, text: str) -> tuple[Quarantine, str]:
    repository = build_repository(tmp_path / "target", {"train.py": text, "notes.txt": text})
    quarantine = Quarantine.open(tmp_path / "q.git", open_target(repository.path))
    return quarantine, repository.head


@pytest.fixture(autouse=True)
def switches(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    "text", ["import torch\n", "def f():\n    from jax.numpy import exp\n", "import numba.cuda\n"]
)
def test_a_gpu_outside_and_none_inside_is_an_error(tmp_path: Path, text: str) -> None:
    dev = machine(tmp_path, *NODES)
    with pytest.raises(ConfigError) as told:
        check_gpus(*clone(tmp_path, text), [], dev)
    assert told.value.exit_code == 3
    assert f"train.py uses a GPU, this machine has {dev}/nvidia0" in str(told.value)
    for node in NODES:
        assert f'"{dev}/{node}"' in str(told.value)


def test_one_that_is_let_in_is_none(tmp_path: Path) -> None:
    dev = machine(tmp_path, *NODES)
    check_gpus(*clone(tmp_path, "import torch\n"), [f"{dev}/nvidia1"], dev)


@pytest.mark.parametrize("nodes", [(), ("dri/renderD128", "nvidiactl")])
def test_no_gpu_outside_is_none_inside(tmp_path: Path, nodes: tuple[str, ...]) -> None:
    check_gpus(*clone(tmp_path, "import torch\n"), [], machine(tmp_path, *nodes))


@pytest.mark.parametrize("text", ["import torchless\n", "# import torch\n", "x = 'torch'\n"])
def test_what_uses_none_is_measured_without(tmp_path: Path, text: str) -> None:
    check_gpus(*clone(tmp_path, text), [], machine(tmp_path, *NODES))


def test_a_person_who_switched_them_off_sees_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    check_gpus(*clone(tmp_path, "import torch\n"), [], machine(tmp_path, *NODES))
    assert switched_off({"HIP_VISIBLE_DEVICES": ""})
    assert not switched_off({"CUDA_VISIBLE_DEVICES": "0,1"})
