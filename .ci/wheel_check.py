"""Build the wheel, install it into an environment of its own, and run a round from it.

Everything happens in a temporary directory, so that nothing can be found in the checkout that the
wheel does not carry.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
CARRIED = ("skills", "templates", "examples/accesslog")

GOAL = """# Fewer steps

## Objective
Take fewer steps

## Target Metric
- Metric name: steps
- Direction: lower is better

## Scope
- In scope: program.py

## Benchmark
- Command: `python3 benchmark.py`
- Format: number
"""
PROGRAM = "STEPS = 100\n"
BENCHMARK = "import program\n\nprint(program.STEPS)\n"
AGENT = """
import json, pathlib, sys

request = json.load(sys.stdin)
answers = {
    "researcher": {
        "iteration": request["round"],
        "repo_analysis_summary": "one constant decides the cost",
        "ideas": [],
    },
    "planner": {
        "hypothesis": "Fewer STEPS lower the cost, because each of them is counted",
        "approach_family": (request["context"].get("family") or ["optimization"])[0],
        "target_files": ["program.py"],
        "steps": [{"step": 1, "file": "program.py", "change": "set STEPS to 40"}],
        "expected_outcome": {
            "metric": "steps", "estimated_impact": "60%", "rationale": "steps are what is counted"
        },
    },
    "architect": {"verdict": "approve", "feedback": "", "structural_concerns": []},
    "critic": {"score": 1, "issues": [], "summary": "fine"},
    "executor": {"summary": "STEPS is 40"},
}
if request["role"] == "executor":
    pathlib.Path("program.py").write_text("STEPS = 40\\n")
print("Here is my answer:", json.dumps(answers[request["role"]]))
"""


def main() -> None:
    """Build, look inside, install, run."""
    with tempfile.TemporaryDirectory(prefix="wheel-check-") as name:
        place = Path(name)
        wheel = build(place / "dist")
        check_contents(wheel)
        selfimprove = install(wheel, place / "env")
        check_resources(selfimprove.parent / "python", place)
        said = run([selfimprove, "--help"], place)
        assert "Usage: selfimprove" in said, said
        round_from(selfimprove, place)
    print(f"wheel-check: {wheel.name} is whole, and a round from it was merged")


def build(dist: Path) -> Path:
    """Build as a release would: from the source alone, in an environment of the builder's own."""
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", dist, CHECKOUT]
    run(command, CHECKOUT)
    (wheel,) = dist.glob("*.whl")
    return wheel


def check_contents(wheel: Path) -> None:
    """The wheel has every file of the folders it carries, and nothing that was left lying about."""
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
    for folder in CARRIED:
        tracked = run(["git", "ls-files", "-z", folder], CHECKOUT).split("\0")[:-1]
        missing = [path for path in tracked if f"selfimprove/{path}" not in inside]
        assert tracked, f"{folder} holds nothing"
        assert not missing, f"not in the wheel: {missing}"
    litter = [path for path in inside if "__pycache__" in path or path.endswith(".pyc")]
    assert not litter, f"in the wheel and no part of it: {litter}"


def install(wheel: Path, env: Path) -> Path:
    """The wheel and what it asks for, in an environment without the checkout."""
    venv.create(env, with_pip=True)
    pip = [
        env / "bin/python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-compile",
    ]
    run([*pip, wheel], env)
    return env / "bin/selfimprove"


def check_resources(python: Path, place: Path) -> None:
    """The folders beside the code are found where the wheel put them."""
    code = f"""
from selfimprove.resources import folder, text
for name in {CARRIED!r}:
    found = folder(name.split("/")[0]) / name.partition("/")[2]
    assert found.is_dir() and "site-packages" in found.parts, found
assert text("templates/goal.md")
"""
    run([python, "-c", code], place)


def round_from(selfimprove: Path, place: Path) -> None:
    """One round, played by a program that is no part of the package, ends in a merge."""
    repo = place / "target"
    repo.mkdir()
    files = {"goal.md": GOAL, "program.py": PROGRAM, "benchmark.py": BENCHMARK}
    for name, text in files.items():
        (repo / name).write_text(text)
    agent = place / "agent.py"
    agent.write_text(AGENT)
    git = ["git", "-C", repo, "-c", "user.name=A User", "-c", "user.email=user@example.com"]
    run(["git", "init", "-q", "-b", "main", repo], place)
    run([*git, "add", "."], place)
    run([*git, "commit", "-q", "-m", "start"], place)
    spec = f"command:python3 {agent}"
    start = ["run", repo, "--agent", spec, "--agents", "1", "--max-iterations", "1", "--yes"]
    run([selfimprove, *start, "--require-win"], place)
    story = run([*git, "log", "-1", "--format=%B", "improve/take_fewer_steps"], place)
    assert "Plan: round_1_planner_a" in story, story
    assert run([*git, "show", "improve/take_fewer_steps:program.py"], place) == "STEPS = 40\n"
    assert run([*git, "status", "--porcelain"], place) == "", "the checkout was touched"
    run([selfimprove, "validate", repo], place)


def run(command: list[str | Path], place: Path) -> str:
    """Run a command below the temporary home; its standard output."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("SELFIMPROVE_", "PYTHON"))}
    own = {"XDG_CACHE_HOME": str(place / "cache"), "XDG_STATE_HOME": str(place / "state")}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=place,
        env=env if place == CHECKOUT else env | own,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        timeout=600,
    )
    if done.returncode != 0:
        words = " ".join(str(word) for word in command)[:300]
        sys.exit(f"wheel-check: {words}\nexited with {done.returncode}:\n{done.stdout}")
    return done.stdout


if __name__ == "__main__":
    main()
