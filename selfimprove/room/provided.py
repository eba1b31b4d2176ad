"""The user's paths that are shown to jobs read-only, and the devices that are let in: checked."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from selfimprove.contracts.settings import Provide
from selfimprove.errors import ConfigError
from selfimprove.room.agent_view import named_paths
from selfimprove.room.environ import Profile
from selfimprove.room.job import RoomSpec
from selfimprove.room.reduced import points_back
from selfimprove.room.visible import is_below

AUDIENCE: dict[Profile, frozenset[str]] = {
    "deps": frozenset({"benchmark"}),
    "prepare": frozenset({"benchmark"}),
    "benchmark": frozenset({"benchmark"}),
    "guard": frozenset({"benchmark"}),
    "holdout": frozenset({"benchmark", "holdout"}),
    "agent": frozenset({"agents"}),
}
"""Whose provided paths each profile is given."""


class Provided:
    """What `provide` and `sandbox.devices` name."""

    def __init__(self, spec: RoomSpec, home: Path, mounts: bool) -> None:
        """`mounts`: they are shown in their places; otherwise links lead to them."""
        self._top = spec.target_top
        self.paths: dict[Path, Provide] = {}
        for one in spec.provide:
            place = named_paths([one.path], home, self._top)[0]
            self.paths[Path(os.path.normpath(place))] = one
        self.devices = tuple(map(Path, spec.sandbox.devices))
        self._check(mounts)

    def is_for(self, profile: Profile, path: Path) -> bool:
        """Whether jobs of a profile are given a provided path."""
        return bool(AUDIENCE[profile] & set(self.paths[path].for_))

    def inside(self, profile: Profile | None = None) -> dict[Path, Path]:
        """Those that lie in the tree: place relative to its top -> the user's path."""
        return {
            path.relative_to(self._top): path
            for path in self.paths
            if is_below(path, [self._top]) and (profile is None or self.is_for(profile, path))
        }

    def tools(self) -> Iterator[Path]:
        """Where programs may lie that all may see."""
        for path, one in self.paths.items():
            if set(one.for_) != {"holdout"}:
                for folder in (path / "bin", path / ".bin", path):
                    if folder.exists() and (folder != path or path.is_file()):
                        yield folder

    def _check(self, mounts: bool) -> None:
        for device in self.devices:
            if not is_below(device, [Path("/dev")]) or not device.exists():
                raise ConfigError(
                    f"sandbox.devices: {device} is no device of this machine",
                    "name files below /dev, such as /dev/nvidia0",
                )
        for path in self.paths:
            if not path.exists():
                raise ConfigError(
                    f"provide: {path} does not exist", "create it, or take it out of `provide`"
                )
            found = "" if mounts else points_back(path, self._top)
            if found:
                raise ConfigError(
                    f"provide: {path} points back into your checkout ({found}), so without "
                    "bubblewrap a benchmark would measure your files instead of the candidate's",
                    "install bubblewrap and allow user namespaces, or install without -e or links",
                )
