"""One path, nothing else in reach: what a job sees, may write and is given."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from room_machine import Machine, contained_only, script

from selfimprove.errors import ConfigError, Stopped, ToolError
from selfimprove.process import Outcome
from selfimprove.proctree import become_reaper
from selfimprove.room.job import Job

Run = Callable[..., Outcome]
BOTH = pytest.mark.parametrize("mode", [pytest.param("auto", marks=contained_only), "off"])


def said(outcome: Outcome) -> str:
    assert outcome.exit_code == 0, outcome
    return outcome.stdout.decode().strip()


@contained_only
def test_tree_stands_at_the_targets_own_path(machine: Machine, run: Run) -> None:
    assert said(run(f'pwd; cat who; cat "{machine.target}/who"; ls -a')).splitlines()[:3] == [
        str(machine.target),
        "candidatecandidate.",
        "..",
    ]


@BOTH
def test_candidate_is_what_runs(machine: Machine, run: Run, mode: str) -> None:
    assert said(run(f"cat who '{machine.target}/who'", mode)) == "candidatecandidate"


@BOTH
def test_sub_folder_of_a_repository(machine: Machine, run: Run, mode: str) -> None:
    (machine.tree / "sub").mkdir()
    assert said(run('basename "$PWD"; cat ../who', mode, prefix="sub/")) == "sub\ncandidate"


@contained_only
def test_checkout_home_and_cache_are_out_of_reach(machine: Machine, run: Run) -> None:
    (machine.home / "secret").write_text("s")
    (machine.base / "cache" / "rival").write_text("r")
    (machine.base / "beside").write_text("b")
    out = said(run('ls -A ~ "$HOME" /tmp /var/tmp /dev/shm; ls -A .; ls .. ../..; exit 0'))
    assert "secret" not in out
    assert "rival" not in out
    assert "beside" not in out
    assert ".git" not in out
    assert said(run(f"test -e '{machine.base}/cache' || echo hidden")) == "hidden"


@contained_only
def test_private_places_are_writable_and_leave_nothing(machine: Machine, run: Run) -> None:
    out = run("echo x | tee ~/f /tmp/f /var/tmp/f /dev/shm/f ./f && echo $HOME $TMPDIR")
    assert said(out).endswith(f"{machine.home} /tmp")
    assert not (machine.home / "f").exists()
    assert (machine.tree / "f").exists()
    assert not list((machine.base / "cache" / "jobs").iterdir())


@contained_only
@pytest.mark.parametrize("place", ["/usr/x", "/etc/x", "/x", "/sys/x", "/run/../x"])
def test_system_is_read_only(run: Run, place: str) -> None:
    assert run(f"touch {place}").exit_code != 0


@contained_only
def test_read_only_tree(run: Run) -> None:
    assert run("touch new", read_only_tree=True).exit_code != 0
    assert said(run("cat who", read_only_tree=True)) == "candidate"


@contained_only
def test_read_only_mounts_cannot_be_undone(run: Run) -> None:
    assert run("mount -o remount,rw /usr; umount /etc; touch /usr/x").exit_code != 0


@contained_only
def test_no_network_but_a_loopback(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        connect = (
            f"python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), 2)'"
        )
        assert run(connect).exit_code != 0
        assert run(connect, sandbox={"network": "host"}).exit_code == 0
        assert run(connect, profile="deps").exit_code == 0
        assert run(connect, profile="agent").exit_code == 0
        assert run(connect, profile="prepare", env={}).exit_code != 0
    own = "import socket as s; x = s.create_server(('', 0)); s.create_connection(x.getsockname())"
    assert run(f'python3 -c "{own}"').exit_code == 0


@BOTH
def test_environment_is_built_not_inherited(machine: Machine, run: Run, mode: str) -> None:
    for name in ("API_KEY", "WANTED", "SELFIMPROVE_TOPIC", "LC_ALL", "TERM"):
        machine.monkeypatch.setenv(name, "mine")
    env = dict(
        line.split("=", 1)
        for line in said(
            run("env", mode, env_names=("WANTED", "ABSENT"), env={"SEED": "7"})
        ).splitlines()
    )
    assert env["WANTED"] == "mine"
    assert env["SEED"] == "7"
    assert env["LANG"] == "C.UTF-8"
    assert not {"API_KEY", "SELFIMPROVE_TOPIC", "LC_ALL", "TERM", "ABSENT"} & set(env)
    assert not [name for name in env if "SELFIMPROVE" in name.upper()]


@BOTH
def test_agent_environment(machine: Machine, run: Run, mode: str) -> None:
    for name in ("API_KEY", "SELFIMPROVE_TOPIC"):
        machine.monkeypatch.setenv(name, "mine")
    out = said(run("env", mode, profile="agent", env={"SELFIMPROVE_ROLE": "planner"}))
    assert "API_KEY=mine" in out
    assert "SELFIMPROVE_ROLE=planner" in out
    assert "SELFIMPROVE_TOPIC" not in out


@BOTH
def test_result_file_is_brought_out(machine: Machine, run: Run, mode: str) -> None:
    wanted = machine.base / "result.json"
    run("echo '{\"a\": 1}' > {result}.new; mv {result}.new {result}", mode, result_file=wanted)
    assert json.loads(wanted.read_text()) == {"a": 1}
    run("ln -s /etc/passwd {result}", mode, result_file=wanted)
    assert not wanted.exists()
    run("mkfifo {result}", mode, result_file=wanted)
    assert not wanted.exists()


@contained_only
def test_daemons_die_with_the_job(machine: Machine, run: Run) -> None:
    code = "(setsid sh -c 'sleep 1; touch escaped' >/dev/null 2>&1 &) ; sleep 0.1"
    assert run(code).exit_code == 0
    time.sleep(1.2)
    assert not (machine.tree / "escaped").exists()


@contained_only
def test_nothing_stays_a_zombie(run: Run) -> None:
    become_reaper()  # as any job without a namespace makes us
    for _ in range(3):
        run("sleep 5 & true")
    assert [
        each.name() for each in psutil.Process().children() if each.status() == psutil.STATUS_ZOMBIE
    ] == []


@contained_only
def test_time_is_up(run: Run) -> None:
    outcome = run("trap 'echo tidied; exit 0' TERM; sleep 300 & wait", timeout=0.4)
    assert outcome.timed_out
    assert b"tidied" in outcome.stdout
    assert outcome.duration_s < 2


@contained_only
def test_arguments_show_no_host_paths(machine: Machine, run: Run) -> None:
    assert str(machine.base / "cache") not in said(run("cat /proc/1/cmdline | tr '\\0' ' '"))


@contained_only
def test_exit_codes_and_a_missing_program(machine: Machine, run: Run) -> None:
    assert run("exit 7").exit_code == 7
    outcome = machine.room().run(Job(("no-such",), machine.tree, "benchmark"))
    assert outcome.exit_code == 127
    assert run("echo 'bwrap: pretending' >&2; exit 1").exit_code == 1


# what is provided, and PATH


def environment(machine: Machine, *, editable: bool = False) -> Path:
    """A `.venv` beside the code whose python is a link to one elsewhere in HOME."""
    base = script(machine.home / ".pythons" / "3.x" / "bin" / "python3", "#!/bin/sh\necho real\n")
    venv = machine.target / ".venv"
    site = venv / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    (venv / "bin").mkdir()
    (venv / "bin" / "python").symlink_to(base)
    (venv / "pyvenv.cfg").write_text(f"home = {base.parent}\n")
    script(venv / "bin" / "tool", f"#!/bin/sh\nexec '{venv}/bin/python'\n")
    if editable:
        (site / "proj.pth").write_text(f"{machine.target}/src\n")
    return venv


@BOTH
def test_provided_environment_with_its_interpreter(machine: Machine, run: Run, mode: str) -> None:
    venv = environment(machine)
    machine.path(venv / "bin", machine.base / "does not exist")
    assert said(run("tool", mode, provide=[{"path": ".venv"}])) == "real"
    assert not (machine.tree / ".venv").exists()


@contained_only
def test_provided_environment_is_read_only(machine: Machine, run: Run) -> None:
    environment(machine)
    assert run("touch .venv/x", provide=[{"path": ".venv"}]).exit_code != 0


@contained_only
def test_path_entry_in_the_target_shows_the_tree_not_the_checkout(
    machine: Machine, run: Run
) -> None:
    venv = environment(machine)
    machine.path(venv / "bin")
    assert run("tool").exit_code == 127
    script(machine.tree / ".venv" / "bin" / "tool", "#!/bin/sh\necho of the tree\n")
    assert said(run("tool")) == "of the tree"


@contained_only
def test_editable_install_resolves_to_the_candidate(machine: Machine, run: Run) -> None:
    venv = environment(machine, editable=True)
    (machine.tree / "src").mkdir()
    (machine.tree / "src" / "proj.py").write_text("print('candidate')")
    (machine.target / "src").mkdir()
    (machine.target / "src" / "proj.py").write_text("print('checkout')")
    code = f'import site; site.addsitedir("{venv}/lib/python3.11/site-packages"); import proj'
    assert said(run(f"python3 -c '{code}'", provide=[{"path": ".venv"}])) == "candidate"


def test_editable_install_is_refused_without_mounts(machine: Machine) -> None:
    environment(machine, editable=True)
    with pytest.raises(ConfigError, match=r"points back into your checkout.*proj\.pth.*bubblewrap"):
        machine.room("off", provide=[{"path": ".venv"}])


def test_workspace_link_is_refused_without_mounts(machine: Machine) -> None:
    modules = machine.target / "node_modules" / "@me"
    modules.mkdir(parents=True)
    (machine.target / "packages" / "one").mkdir(parents=True)
    (modules / "one").symlink_to("../../packages/one")
    with pytest.raises(ConfigError, match="is a link to"):
        machine.room("off", provide=[{"path": "node_modules"}])


def test_missing_provided_path_is_named(machine: Machine) -> None:
    with pytest.raises(ConfigError, match=r"my proj/\.venv does not exist"):
        machine.room(provide=[{"path": ".venv"}])


@BOTH
def test_provided_for_whom(machine: Machine, run: Run, mode: str) -> None:
    (machine.home / "answers").mkdir()
    (machine.home / "answers" / "a").write_text("42")
    (machine.target / "data").write_text("d")
    provide = [
        {"path": str(machine.home / "answers"), "for": ["holdout"]},
        {"path": "data", "for": ["agents"]},
    ]
    if mode == "auto":
        look = f"cat '{machine.home}/answers/a'"
        assert said(run(look, mode, provide=provide, profile="holdout")) == "42"
        assert run(look, mode, provide=provide).exit_code != 0
        assert run(look, mode, provide=provide, profile="agent").exit_code != 0
    assert said(run("cat data", mode, provide=provide, profile="agent")) == "d"
    assert run("cat data", mode, provide=provide).exit_code != 0


@contained_only
def test_committed_link_at_a_provided_place_leads_nowhere(machine: Machine, run: Run) -> None:
    environment(machine)
    (machine.tree / ".venv").symlink_to("/etc")
    assert said(run("ls .venv/bin; ls /etc/passwd", provide=[{"path": ".venv"}])).endswith("passwd")
    assert "tool" in said(run("ls .venv/bin", provide=[{"path": ".venv"}]))


@contained_only
def test_secrets_in_a_shown_home_are_masked(machine: Machine, run: Run) -> None:
    script(machine.home / ".cargo" / "bin" / "cargo", "#!/bin/sh\necho cargo\n")
    (machine.home / ".cargo" / "credentials.toml").write_text("token")
    machine.path(machine.home / ".cargo" / "bin")
    assert said(run("cargo; cat ~/.cargo/credentials.toml; echo $CARGO_HOME")) == (
        f"cargo\n{machine.home}/.cargo"
    )


@contained_only
def test_home_that_is_the_target_and_target_below_tmp(machine: Machine, run: Run) -> None:
    machine.monkeypatch.setenv("HOME", str(machine.target))
    assert said(run("cat who; echo; ls -A $HOME; echo $HOME")) == "candidate\n/tmp/home"


# agents


@BOTH
def test_agent_runs_the_program_it_names(machine: Machine, run: Run, mode: str) -> None:
    folder = machine.base.parent / "agents"  # a first line cannot name a path with a space
    interpreter = script(
        machine.base.parent / "lang" / "bin" / "lang", '#!/bin/sh\ncat "$1" | tail -1\n'
    )
    agent = script(folder / "agent.x", f"#!{interpreter}\nran\n")
    if mode == "auto":
        (folder / "other").write_text("not named")
        assert said(run(f"{agent} && cd {folder.parent} && ls agents", profile="agent")) == (
            "ran\nagent.x"
        )
    assert said(run(f"'{agent}'", mode, profile="agent")) == "ran"


@BOTH
def test_agent_program_that_is_not_committed(machine: Machine, run: Run, mode: str) -> None:
    script(machine.target / "agent.sh", "#!/bin/sh\necho mine > done\n")
    assert run("sh ./agent.sh", mode, profile="agent").exit_code == 0
    assert sorted(os.listdir(machine.tree)) == ["done", "who"]


@BOTH
def test_readers_of_one_tree_share_its_mount_points(machine: Machine, run: Run, mode: str) -> None:
    script(machine.target / "agent.sh", "#!/bin/sh\nsleep 0.1; cat data\n")
    (machine.target / "data").write_text("d")
    room = machine.room(mode, provide=[{"path": "data", "for": ["agents"]}])
    job = Job("sh agent.sh", machine.tree, "agent", read_only_tree=True)
    with ThreadPoolExecutor(4) as pool:
        outcomes = [pool.submit(room.run, job) for _ in range(8)]
        assert [said(one.result()) for one in outcomes] == ["d"] * 8


@BOTH
def test_committed_link_at_a_provided_place_is_put_back(
    machine: Machine, run: Run, mode: str
) -> None:
    (machine.target / "data").write_text("d")
    (machine.tree / "data").symlink_to("who")
    assert said(run("cat data", mode, profile="agent", provide=[{"path": "data"}])) == "d"
    assert str((machine.tree / "data").readlink()) == "who"
    assert (machine.tree / "who").read_text() == "candidate"


@BOTH
def test_agent_paths(machine: Machine, run: Run, mode: str) -> None:
    (machine.home / ".claude").mkdir()
    (machine.home / ".claude" / "key").write_text("k")
    (machine.home / "out").mkdir()
    paths = {"read": ["~/.claude"], "write": [str(machine.home / "out")]}
    out = run("cat ~/.claude/key && echo w > ~/out/f", mode, profile="agent", agent_paths=paths)
    assert said(out) == "k"
    assert (machine.home / "out" / "f").exists()
    if mode == "auto":
        assert run("cd ~/.claude && cat key", agent_paths=paths).exit_code != 0
        write = run("touch ~/.claude/x", profile="agent", agent_paths=paths)
        assert write.exit_code != 0
        look = "cd ~ && cat .claude/key"
        everything = run(look, profile="agent", agent_paths={"read": ["~"]})
        assert everything.exit_code != 0
        look = f"cat '{machine.target}/who'"
        assert said(run(look, profile="agent", agent_paths={"read": ["~"]})) == "candidate"


def test_agents_may_not_write_the_checkout(machine: Machine) -> None:
    with pytest.raises(ConfigError, match=r"agent_paths\.write"):
        machine.room("off", agent_paths={"write": ["~"]})


# tools


@contained_only
def test_which_names_the_line_to_add(machine: Machine) -> None:
    venv = environment(machine)
    machine.path(venv / "bin")
    check = machine.room().which("A=1 tool --fast", machine.tree)
    assert not check.ok
    assert 'add {"path": ".venv"} to `provide`' in check.message
    assert machine.room(provide=[{"path": ".venv"}]).which("tool", machine.tree).ok


@BOTH
def test_which_knows_a_provided_tool(machine: Machine, mode: str) -> None:
    machine.path(environment(machine) / "bin")
    check = machine.room(mode, provide=[{"path": ".venv"}]).which("tool", machine.tree)
    assert check.ok, check.message


@contained_only
def test_stop_leaves_no_descriptor_open(machine: Machine) -> None:
    room = machine.room()
    threading.Timer(0.3, room.stop.set).start()
    before = psutil.Process().num_fds()
    with pytest.raises(Stopped):
        room.run(Job("sleep 60", machine.tree, "benchmark"))
    assert psutil.Process().num_fds() == before
    assert not list((machine.base / "cache" / "jobs").iterdir())


@contained_only
def test_our_own_failure_is_not_the_candidates(machine: Machine) -> None:
    with pytest.raises(ToolError, match="bubblewrap could not set up the room"):
        machine.room().run(Job("true", machine.base / "no tree", "benchmark"))


@BOTH
@pytest.mark.parametrize(
    "command", ["python3 x.py", "cd sub && ls", "test -e x", "nothing-like-it", "./run.sh", "'", ""]
)
def test_which_finds_no_fault_where_there_is_none(
    machine: Machine, mode: str, command: str
) -> None:
    script(machine.tree / "run.sh", "#!/bin/sh\n")
    script(machine.target / "run.sh", "#!/bin/sh\n")
    check = machine.room(mode).which(command, machine.tree)
    assert check.ok, check.message


def test_describe_names_level_network_and_variables(machine: Machine) -> None:
    lines = machine.room("off", env_names=("TOKEN",), sandbox={"memory_mb": 9}).describe()
    assert "isolation: off (sandbox.mode is off)" in lines
    assert "variables: TOKEN" in lines
    assert "limits: memory_mb 9" in lines
    assert any(line.startswith("not stopped at this level") for line in lines)


@contained_only
def test_overhead_of_a_job_is_small(machine: Machine) -> None:
    room = machine.room()
    job = Job("true", machine.tree, "benchmark")
    room.run(job)
    before = time.process_time()
    for _ in range(10):
        room.run(job)
    assert (time.process_time() - before) / 10 < 0.04


@contained_only
def test_what_is_left_behind_is_counted(run: Run) -> None:
    assert run("true").survivors == 0
    assert run("(sleep 20 &) ; (sleep 20 &) ; true").survivors == 2
    assert run("(sleep 0.03 &) ; true").survivors == 0  # it went by itself
    assert run("sh -c 'kill -9 $$'").exit_code == 137


@contained_only
def test_a_count_of_ones_own_is_not_believed(run: Run) -> None:
    forge = "for f in /proc/2/fd/*; do echo 0 > $f; done 2>/dev/null; (sleep 20 &)"
    assert run(forge).survivors >= 1


@pytest.mark.parametrize("mode", ["auto", "off"])
@pytest.mark.parametrize(
    ("limit", "command", "exceeded"),
    [
        (
            {"memory_mb": 40},
            "python3 -c 'x = bytearray(90 << 20); import time; time.sleep(1)'",
            "memory",
        ),
        ({"memory_mb": 200}, "python3 -c 'x = bytearray(9 << 20)'", ""),
        ({"processes": 5}, "for k in 1 2 3 4 5 6 7 8 9; do sleep 1 & done; wait", "processes"),
        ({"processes": 9}, "for k in 1 2 3; do sleep 0.1 & done; wait", ""),
        ({"disk_mb": 3}, "head -c 9000000 /dev/zero > big; sleep 1", "disk"),
        ({"disk_mb": 3}, "head -c 9000000 /dev/zero > $TMPDIR/big", "disk"),
        ({"disk_mb": 3}, "head -c 900000 /dev/zero > small", ""),
    ],
)
def test_limits(run: Run, mode: str, limit: dict[str, int], command: str, exceeded: str) -> None:
    assert run(command, mode, sandbox=limit).exceeded == exceeded


@contained_only
def test_devices_pass_when_they_are_named(machine: Machine, run: Run) -> None:
    assert run("test -e /dev/kmsg").exit_code == 1
    assert run("test -e /dev/kmsg", sandbox={"devices": ["/dev/kmsg"]}).exit_code == 0
    with pytest.raises(ConfigError, match="no device of this machine"):
        machine.room(sandbox={"devices": ["/dev/absent"]})
