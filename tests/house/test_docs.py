"""What the pages promise is there: commands, files, targets, versions; their examples work."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest

from selfimprove import __version__
from selfimprove.agents.schemas import check_output
from selfimprove.cli import COMMANDS, cli
from selfimprove.contracts.agent import AgentRole
from selfimprove.contracts.settings import FORMATS
from selfimprove.goalfile import parse_goal, slugify
from selfimprove.room.unstopped import UNSTOPPED
from selfimprove.testing import a_request

from .source import CHECKOUT

PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "docs/threats.md",
    "docs/room.md",
    "docs/crashes.md",
    "docs/records.md",
    "docs/reviews.md",
    "docs/init.md",
    "docs/agents.md",
)
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
CODE_PATH = re.compile(
    r"`((?:selfimprove|skills|templates|tests|examples|benchmarks)/[\w./-]*|[\w.]+\.(?:py|md))`"
)


def page(name: str) -> str:
    return (CHECKOUT / name).read_text(encoding="utf-8")


def block(language: str) -> str:
    """The README's one example in a language."""
    (found,) = re.findall(
        rf"^```{language}\n(.*?)^```", page("README.md"), re.DOTALL | re.MULTILINE
    )
    return str(found)


def test_every_command_has_help_and_a_line_in_the_readme() -> None:
    table = page("README.md").partition("## Commands")[2].partition("\n## ")[0]
    listed = re.findall(r"^\| `selfimprove (\w+)", table, re.MULTILINE)
    assert sorted(listed) == sorted(COMMANDS)
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        assert command.help


def test_options_in_the_readme_exist() -> None:
    known = {"--help", "--version"}
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        known |= {word for option in command.params for word in option.opts}
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", page("README.md")))
    assert named - known == set()


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name: str) -> None:
    links = [link for link in LINK.findall(page(name)) if "://" not in link]
    assert [link for link in links if not (CHECKOUT / name).parent.joinpath(link).exists()] == []


def test_files_that_contributing_names_exist() -> None:
    places = (CHECKOUT, CHECKOUT / "selfimprove", CHECKOUT / "templates")
    named = CODE_PATH.findall(page("CONTRIBUTING.md"))
    assert len(named) > 10
    assert [path for path in named if not any((place / path).exists() for place in places)] == []


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", page("Makefile"), re.MULTILINE))
    for name in ("README.md", "CONTRIBUTING.md", ".ci/run"):
        named = set(re.findall(r"(?:^    |`|; )make ([a-z-]+)", page(name), re.MULTILINE))
        assert named <= targets, name


def test_what_is_not_stopped_is_told() -> None:
    told = page("docs/threats.md")
    assert [each.name for each in UNSTOPPED if f"| {each.what} |" not in told] == []


def test_the_formats_are_listed() -> None:
    assert [name for name in FORMATS if f"`{name}`" not in page("README.md")] == []


def test_versions_agree() -> None:
    project = tomllib.loads(page("pyproject.toml"))["project"]
    newest = re.search(r"^## \[([^\]]+)\]", page("CHANGELOG.md"), re.MULTILINE)
    assert newest is not None
    assert newest[1] == __version__ == project["version"]


def test_the_goal_in_the_readme_is_understood() -> None:
    goal = parse_goal(block("markdown"))
    assert goal.metric.name == "import_ms"
    assert goal.scope.in_scope
    branch = f"improve/{slugify(goal.objective)}"
    assert f"git log {branch}\n" in page("README.md")


def test_the_agent_in_the_readme_plans_and_edits(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text("cache_size = 64\nother = 1\n")
    program = block("python")
    plan = ask(program, tmp_path, "planner", {"family": ["data"]})
    assert plan["approach_family"] == "data"
    assert (tmp_path / "settings.toml").read_text().startswith("cache_size = 64\n")
    ask(program, tmp_path, "executor", {"plan": plan})
    assert (tmp_path / "settings.toml").read_text() == "cache_size = 512\nother = 1\n"


def ask(program: str, tree: Path, role: AgentRole, context: dict[str, object]) -> dict[str, object]:
    request = a_request(role, 1, **context)
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=request.model_dump_json(),
        cwd=tree,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return check_output(request, json.loads(done.stdout))
