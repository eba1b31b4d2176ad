"""A machine of one's own: a home, a target checkout and a candidate's tree, below tmp_path."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from selfimprove.process import StopToken
from selfimprove.room.isolation import probe
from selfimprove.room.job import RoomSpec
from selfimprove.room.room import Room

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
contained_only = pytest.mark.skipif(
    probe("auto").level != "bubblewrap", reason="no user namespaces on this machine"
)


@dataclass
class Machine:
    base: Path
    home: Path
    target: Path
    tree: Path
    monkeypatch: pytest.MonkeyPatch

    def room(self, mode: str = "auto", **fields: object) -> Room:
        sandbox = fields.pop("sandbox", {})
        assert isinstance(sandbox, dict)
        spec = {
            "target_top": self.target,
            "prefix": "",
            "cache": self.base / "cache",
            "sandbox": {"mode": mode} | sandbox,
        } | fields
        return Room(make_spec(spec), StopToken())

    def path(self, *entries: Path) -> None:
        self.monkeypatch.setenv("PATH", ":".join([*map(str, entries), SYSTEM_PATH]))


def make_spec(values: dict[str, object]) -> RoomSpec:
    from selfimprove.contracts.settings import AgentPaths, Provide, SandboxSettings

    provide = values.pop("provide", ())
    assert isinstance(provide, (list, tuple))
    return RoomSpec(
        **{  # type: ignore[arg-type]
            **values,
            "provide": tuple(Provide.model_validate(one) for one in provide),
            "sandbox": SandboxSettings.model_validate(values["sandbox"]),
            "agent_paths": AgentPaths.model_validate(values.get("agent_paths", {})),
        }
    )


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path
