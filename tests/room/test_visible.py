"""What a tool on PATH drags along, and what it must not."""

from __future__ import annotations

from pathlib import Path

import pytest
from room_machine import script

from selfimprove.errors import ConfigError
from selfimprove.room.isolation import Mount, mount_arguments, probe
from selfimprove.room.reduced import points_back
from selfimprove.room.visible import Visible, is_below, outermost, see


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def seen(home: Path, *path: Path, hidden: tuple[Path, ...] = (), **env: str) -> Visible:
    (home / "target").mkdir(parents=True, exist_ok=True)
    found = see({"PATH": ":".join(map(str, path))} | env, home, (home / "target", *hidden))
    assert not is_below(home / "target", found.shown)
    return found


def test_every_hop_of_a_link_is_shown(home: Path) -> None:
    real = script(home / "store" / "v1" / "bin" / "node", "\x7fELF")
    (real.parent.parent / "lib").mkdir()
    (home / "current").mkdir(parents=True)
    (home / "current" / "node").symlink_to(real)
    (home / "bin").mkdir()
    (home / "bin" / "node").symlink_to("../current/node")
    found = seen(home, home / "bin")
    assert found.shown == (home / "bin", home / "current", home / "store" / "v1")


def test_interpreter_of_an_interpreter(home: Path) -> None:
    base = script(home / "pythons" / "3" / "bin" / "python3", "\x7fELF")
    (base.parent.parent / "lib").mkdir()
    venv = home / "tools" / "black"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "python").symlink_to(base)
    (venv / "pyvenv.cfg").write_text(f"home = {base.parent}\n")
    script(venv / "bin" / "black", f"#!{venv}/bin/python\n")
    (home / ".local" / "bin").mkdir(parents=True)
    (home / ".local" / "lib").mkdir()
    (home / ".local" / "bin" / "black").symlink_to(venv / "bin" / "black")
    found = seen(home, home / ".local" / "bin")
    assert set(found.shown) == {
        home / ".local" / "bin",
        home / ".local" / "lib",
        home / "pythons" / "3",
        venv,
    }


def test_folder_that_merely_holds_a_bin_is_not_shown(home: Path) -> None:
    script(home / "work" / "bin" / "mine", "#!/bin/sh\n")
    (home / "work" / "other").mkdir()
    assert seen(home, home / "work" / "bin").shown == (home / "work" / "bin",)


def test_tool_in_the_checkout_shows_its_interpreter_alone(home: Path) -> None:
    base = script(home / "pythons" / "bin" / "python3", "\x7fELF")
    venv = home / "target" / ".venv" / "bin"
    venv.mkdir(parents=True)
    (venv / "python").symlink_to(base)
    found = seen(home, venv)
    assert found.shown == (home / "pythons" / "bin",)
    assert found.path == str(venv)


def test_homes_by_variable_and_by_default(home: Path, tmp_path: Path) -> None:
    (home / ".pyenv").mkdir(parents=True)
    (tmp_path / "rust").mkdir()
    found = seen(home, RUSTUP_HOME=str(tmp_path / "rust"), GOPATH=str(home / "absent"))
    assert found.variables == {
        "PYENV_ROOT": str(home / ".pyenv"),
        "RUSTUP_HOME": str(tmp_path / "rust"),
    }
    assert found.shown == (home / ".pyenv", tmp_path / "rust")


def test_secret_folder_with_a_tool_in_it(home: Path) -> None:
    script(home / ".claude" / "local" / "bin" / "claude", "#!/bin/sh\n")
    (home / ".claude" / "key").write_text("k")
    found = seen(home, home / ".claude" / "local" / "bin")
    assert found.shown == (home / ".claude" / "local" / "bin",)


def test_home_behind_a_link(home: Path, tmp_path: Path) -> None:
    real = tmp_path / "var" / "home"
    script(real / "bin" / "tool", "#!/bin/sh\n")
    (real / "lib").mkdir()
    (real / ".ssh").mkdir()
    home.symlink_to(real)
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "tool").symlink_to(home / "bin" / "tool")
    assert seen(home, tmp_path / "links").shown == (
        home / "bin",
        tmp_path / "links",
        real / "bin",
    )


def test_link_loops_and_broken_links_end(home: Path) -> None:
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "a").symlink_to("b")
    (home / "bin" / "b").symlink_to("a")
    (home / "bin" / "c").symlink_to("nowhere")
    (home / "bin" / "d").write_text("#!\n")
    assert seen(home, home / "bin", home / "bin", home / "absent").shown == (home / "bin",)


def test_outermost() -> None:
    paths = [Path("/a/b"), Path("/a"), Path("/ab"), Path("/a b/c"), Path("/c/d")]
    assert outermost(paths) == (Path("/a"), Path("/a b/c"), Path("/ab"), Path("/c/d"))


def test_outer_mounts_come_first_and_the_last_wins() -> None:
    deep, top = Mount(Path("/a/b/c"), "empty"), Mount(Path("/a"), "read", Path("/x"))
    again = Mount(Path("/a/b/c"), "write", Path("/y"))
    assert mount_arguments([deep, top, again]) == [
        *("--ro-bind", "/x", "/a"),
        *("--bind", "/y", "/a/b/c"),
    ]


def test_required_refuses_where_nothing_isolates(monkeypatch: pytest.MonkeyPatch) -> None:
    from selfimprove.room import isolation

    monkeypatch.setattr(isolation, "_binaries", lambda: [Path("/bin/false")])
    monkeypatch.setattr("selfimprove.room.landlock.version", lambda: 0)
    isolation._probe.cache_clear()
    try:
        assert probe("auto").level == "reduced"
        monkeypatch.setattr("selfimprove.room.landlock.version", lambda: 7)
        isolation._probe.cache_clear()
        assert probe("auto").level == "landlock"
        with pytest.raises(ConfigError, match=r"'required'.*install bubblewrap"):
            probe("required")
    finally:
        isolation._probe.cache_clear()


def test_environment_that_keeps_to_itself(tmp_path: Path) -> None:
    venv = tmp_path / "proj" / ".venv"
    site = venv / "lib" / "python3.12" / "site-packages"
    site.mkdir(parents=True)
    (site / "a.pth").write_text(f"import x\n{venv}/more\n{tmp_path}/proj-other\n")
    script(venv / "bin" / "pip", f"#!{venv}/bin/python\n")
    assert points_back(venv, tmp_path / "proj") == ""
    (site / "__editable__.b.pth").write_text(f"{tmp_path}/proj/src\n")
    assert "__editable__.b.pth" in points_back(venv, tmp_path / "proj")
