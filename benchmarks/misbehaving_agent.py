"""The agents of `misbehaving.py`: honest in every role but the executor's. Standard library only.

Run as `python3 misbehaving_agent.py SEED WORD`; the word is in the command line of whatever an act
leaves running, so that it can be found.
"""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import sys
import time
from pathlib import Path

REQUEST = json.load(sys.stdin)
SEED, WORD = sys.argv[1:3]
ROUND, AGENT_ID = REQUEST["round"], REQUEST["agent_id"]
CHANCE = random.Random(f"{SEED} {ROUND} {AGENT_ID}")
TREE = Path.cwd()
ALONE = os.getpid() < 1000
"""In a namespace of its own: only there is everything killed."""
STAYS = f"setsid sh -c 'trap \"\" TERM HUP; exec sleep {WORD}' >/dev/null 2>&1 &"


def sh(command: str) -> None:
    subprocess.run(["/bin/sh", "-c", command], capture_output=True, timeout=20, check=False)


def daemons() -> None:
    sh(f"{STAYS} ({STAYS}) &")


def locks() -> None:
    for name in ("index.lock", "HEAD.lock", "refs/heads/x.lock", "shallow.lock"):
        (TREE / ".git" / name).write_text("")


def hooks() -> None:
    (TREE / ".git/hooks").mkdir(exist_ok=True)
    for name in ("pre-commit", "post-checkout", "reference-transaction", "post-index-change"):
        (TREE / ".git/hooks" / name).write_text(f"#!/bin/sh\n{STAYS}\n")
        (TREE / ".git/hooks" / name).chmod(0o755)
    sh(f"git config core.fsmonitor 'sh -c \"{WORD}\"'; git config core.hooksPath .git/hooks")


def git_away() -> None:
    sh("rm -rf .git; ln -s /etc .git")


def other_refs() -> None:
    sh("git update-ref refs/heads/improve/x HEAD; git tag archive/round_9_executor_9; git stash")
    sh("git replace -f HEAD HEAD^; git commit -qam mine; git push --all ..; git gc -q --prune=now")


def links() -> None:
    for name, to in (("passwd", "/etc/passwd"), ("up", "../../.."), ("loop", "loop")):
        Path("src", name).symlink_to(to)
    os.link("src/run", "src/again")


def odd_files() -> None:
    os.mkfifo("src/pipe")
    with socket.socket(socket.AF_UNIX) as one:
        one.bind("src/socket")
    for name in (b"src/new\nline", b"src/\xff", b"src/-rf", b"src/RUN", b"src/:!x"):
        Path(os.fsdecode(name)).write_text("x")


def unreadable() -> None:
    for number in range(60):
        Path("deep/" * number).mkdir(exist_ok=True)
    Path("deep/file").write_text("x")
    Path("deep/deep").chmod(0)
    Path("deep").chmod(0)


def writes_about() -> None:
    user = os.environ["HOME"]
    for place in ("/etc", "/usr", user, str(TREE.parent), "/tmp", "/var/tmp", "/dev/shm", "/run"):
        for name in (".bashrc", ".gitconfig", "selfimprove-slots", "lock", "x"):
            try:
                with open(f"{place}/{name}", "w") as file:  # noqa: PTH123 - plain on purpose
                    file.write(WORD)
            except OSError:
                continue


def gone() -> None:
    sh("rm -rf ./* ")


def much() -> None:
    sh("head -c 30000000 /dev/zero >/dev/shm/x; head -c 20000000 /dev/zero >big")
    sh("yes | head -c 9999999")


def kills() -> None:
    sh("kill -9 $PPID")
    if ALONE:
        sh("kill -9 -1")


def hangs() -> None:
    time.sleep(60)


def leaves() -> None:
    daemons()
    sys.exit(3)


def nonsense() -> None:
    print("{" * 1000, "\0\x1b[2J", '{"summary": 1}')
    sys.exit(0)


def sealed() -> None:
    Path("bench.sh").write_text("echo '{\"score\": 0}'\n")
    Path("sitecustomize.py").write_text("")


def nothing() -> None:
    pass


ACTS = (
    *(daemons, locks, hooks, git_away, other_refs, links, odd_files, unreadable, writes_about),
    *(gone, much, kills, leaves, nonsense, sealed, nothing, nothing, nothing),
)
PROGRAMS = (
    "",
    "",
    STAYS,
    f"({STAYS}) &",
    "sleep 60",
    "exit 3",
    "kill -9 $PPID; kill -9 $$",
    "kill -9 -1",
    "echo 1; exit 0",
    "yes | head -c 20000000; exit 0",
    "python3 -c 'x = bytearray(1 << 30)' & wait",
    "for i in $(seq 200); do sleep 9 & done; wait",
    "head -c 99000000 /dev/zero >big",
    "head -c 99000000 /dev/zero >/dev/shm/big",
    "mkdir -p a/b; touch a/b/c; chmod 0 a/b; chmod 0 a; mkfifo pipe; ln -s / up",
    "rm -rf ./* ~/* /tmp/*",
    "trap '' TERM HUP INT; sleep 60",
)
"""What a committed program does before it prints its number. They run where they are measured."""


def executor() -> dict[str, str]:
    value = 100_000 - 100 * ROUND - CHANCE.randrange(50)
    honest = CHANCE.random() < 0.25
    act = nothing if honest else CHANCE.choice(ACTS) if CHANCE.random() < 0.95 else hangs
    program = "" if honest or CHANCE.random() < 0.3 else CHANCE.choice(PROGRAMS)
    Path("src/run").write_text(f"{program}\necho {value}\n".lstrip())
    act()
    return {"summary": f"{act.__name__}: {program}"}


def planner() -> dict[str, object]:
    hypothesis = f"Setting the number anew for {AGENT_ID} of {ROUND} should lower the score"
    return {
        "hypothesis": f"{hypothesis} because less is done",
        "approach_family": REQUEST["context"]["family"][0],
        "target_files": ["src/run"],
        "steps": [{"step": 1, "file": "src/run", "change": f"write it, {AGENT_ID} {ROUND}"}],
        "expected_outcome": {
            "metric": "score",
            "estimated_impact": "1%",
            "rationale": "less is done",
        },
        "history_reference": {"builds_on": "none", "avoids": "none"},
    }


ROLES = {
    "researcher": lambda: {"repo_analysis_summary": "one number decides", "ideas": []},
    "planner": planner,
    "architect": lambda: {"verdict": "approve"},
    "critic": lambda: {"score": 1.0},
    "executor": executor,
}
answer = ROLES[REQUEST["role"]]()
print(json.dumps(answer))
