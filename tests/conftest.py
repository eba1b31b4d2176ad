"""What every test relies on."""

from __future__ import annotations

import gc
import itertools
import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from selfimprove.testing.rehearsal import Rehearsal

# A busy machine is no failure, and a failure has to come back on the next run.
settings.register_profile(
    "quick",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("quick")

# With the libraries' objects in one process, Python looks them through far too often.
gc.set_threshold(20_000, 20, 20)

GIT_IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "A User"), ("EMAIL", "user@example.com"))
}
NUMBERS = itertools.count()
UNHURRIED = ("SELFIMPROVE_BENCHMARK_LOAD_WAIT", "0")
"""Tests share the machine with each other: no measurement waits for a free core."""
os.environ.update([UNHURRIED])


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the homes of this session's tests lie, outside any test's tmp_path."""
    return tmp_path_factory.mktemp("homes")


@pytest.fixture(autouse=True)
def _guest(homes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home of the test's own, an identity for git, and no settings of whoever runs the tests."""
    home = homes / str(next(NUMBERS))
    home.mkdir()
    for name in list(os.environ):
        if name.startswith(("SELFIMPROVE_", "GIT_", "XDG_", "OTEL_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv(*UNHURRIED)
    own = {"HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1", "MPLCONFIGDIR": str(homes / "matplotlib")}
    for name, value in (own | GIT_IDENTITY).items():
        monkeypatch.setenv(name, value)


@pytest.fixture(autouse=True, scope="session")
def _no_network() -> Iterator[None]:
    """This process reaches nothing beyond this machine."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("connect", "connect_ex"):
            patch.setattr(socket.socket, name, _only_here(getattr(socket.socket, name)))
        yield


def _only_here(connect: Any) -> Any:
    def guarded(this: socket.socket, address: Any) -> Any:
        if this.family in (socket.AF_INET, socket.AF_INET6):
            host = str(address[0])
            if host != "localhost" and not _is_loopback(host):
                raise RuntimeError(f"a test reaches for {host}: tests need no network")
        return connect(this, address)

    return guarded


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Callable[..., Rehearsal]]:
    """Builds rehearsals of runs below tmp_path."""
    with staging(tmp_path) as build:
        yield build


@pytest.fixture(scope="module")
def module_stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Rehearsal]]:
    """The same for a run that several tests only look at."""
    with staging(tmp_path_factory.mktemp("stage")) as build:
        yield build


@contextmanager
def staging(folder: Path) -> Iterator[Callable[..., Rehearsal]]:
    """A measuring slot of its own, and a disk that is not waited for."""
    from selfimprove.testing.rehearsal import rehearse

    machine = folder / "machine"
    machine.mkdir()
    numbers = itertools.count(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(machine))
        patch.setattr(os, "fsync", lambda _: None)
        yield lambda **given: rehearse(folder / f"play {next(numbers)}", **given)
