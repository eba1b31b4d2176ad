"""The examples do what their README says, without network."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from selfimprove.bench.formats import read_score
from selfimprove.bench.seeds import seeded, takes_seed
from selfimprove.goalfile import parse_goal

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def python(tree: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-B", *words], cwd=tree, capture_output=True)


@pytest.fixture
def accesslog(tmp_path: Path) -> Path:
    ignored = shutil.ignore_patterns("__pycache__")
    return Path(shutil.copytree(EXAMPLES / "accesslog", tmp_path / "accesslog", ignore=ignored))


@pytest.fixture
def sortedcontainers(tmp_path: Path) -> Path:
    """As prepare.py lays it out, from the copy that the test tools bring along."""
    spec = importlib.util.find_spec("sortedcontainers")
    if spec is None or spec.origin is None:
        pytest.skip("sortedcontainers is not installed")
    shutil.copytree(Path(spec.origin).parent, tmp_path / "sc" / "sortedcontainers")
    for name in ("benchmark.py", "check.py", "goal.md"):
        shutil.copy(EXAMPLES / "sortedcontainers" / name, tmp_path / "sc" / name)
    return tmp_path / "sc"


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


@pytest.mark.parametrize("name", ["accesslog", "sortedcontainers"])
def test_the_goal_is_whole_and_its_benchmark_scores(name: str, request: pytest.FixtureRequest):
    tree = request.getfixturevalue(name)
    goal = parse_goal((tree / "goal.md").read_text(), "goal.md")
    spec = goal.benchmark
    assert takes_seed(spec.command, "")
    command, _ = seeded(spec.command, 5, "")
    done = python(tree, *command.split()[1:])
    score = read_score(spec.format, done.stdout, None, done.returncode, goal.metric.name)
    assert score.primary == goal.metric.name == "cost"
    assert score.value > 0
    assert set(score.sub_scores) == {"ms"}
    assert [python(tree, *guard.command.split()[1:]).returncode for guard in goal.guards] == [0]


@pytest.mark.parametrize(
    ("name", "file", "old", "new"),
    [
        ("accesslog", "accesslog/networks.py", "first <= value <= last", "first <= value < last"),
        ("accesslog", "accesslog/kinds.py", '"curl/", ', ""),
        ("sortedcontainers", "sortedcontainers/sortedlist.py", "self._len += 1", "pass"),
    ],
)
def test_a_wrong_answer_has_no_score(name, file, old, new, request: pytest.FixtureRequest):
    tree = request.getfixturevalue(name)
    change(tree / file, old, new)
    done = python(tree, "benchmark.py")
    assert done.returncode != 0
    assert b"cost" not in done.stdout


def test_what_the_demo_can_find_does_help(accesslog: Path):
    """An index eight times as fine, a cache that holds the clients: each shows in the score."""

    def cost() -> float:
        done = python(accesslog, "benchmark.py", "--seed", "3")
        return read_score("json", done.stdout, None, done.returncode, "cost").value

    before = cost()
    change(accesslog / "accesslog" / "settings.toml", "cache_entries = 64", "cache_entries = 2048")
    change(accesslog / "accesslog" / "networks.py", "INDEX_BITS = 4", "INDEX_BITS = 10")
    change(accesslog / "accesslog" / "report.py", "in list(visitors.keys())", "in visitors")
    assert cost() < 0.85 * before


def test_prepare_refuses_a_folder_in_use(tmp_path: Path):
    (tmp_path / "mine").write_text("")
    done = python(tmp_path, str(EXAMPLES / "sortedcontainers" / "prepare.py"), str(tmp_path))
    assert done.returncode == 1
    assert b"is not empty" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
