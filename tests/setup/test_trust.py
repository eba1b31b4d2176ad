from __future__ import annotations

import pytest

from selfimprove.agents.skills import parse_skill
from selfimprove.contracts.settings import Settings
from selfimprove.setup.trust import trust_facts
from selfimprove.testing import a_skill

SETTINGS = {
    "benchmark_command": "python bench.py",
    "deps_command": "npm ci",
    "guards": [{"name": "tests", "command": "pytest -q"}],
    "provide": [{"path": ".venv"}],
    "env": ["API_URL"],
    "agents": {"planner": ["offline", "command:mine"]},
    "budget": {"run": {"usd": 5}},
}


def digest(level: str = "bubblewrap", mounts: tuple[str, ...] = (), **changes: object) -> str:
    return trust_facts(Settings.model_validate(SETTINGS | changes), level, mounts).digest()


def test_it_reads_to_a_person() -> None:
    lines = trust_facts(
        Settings.model_validate(SETTINGS), "bubblewrap", ["/usr (read-only)"]
    ).lines()
    assert lines == [
        "Commands:",
        "  dependencies, with network: npm ci",
        "  benchmark: python bench.py",
        "  guard tests: pytest -q",
        "Mounts:",
        "  .venv (read-only, for benchmark, agents)",
        "  /usr (read-only)",
        "Network: none",
        "Variables: API_URL",
        "Agents:",
        "  planner: offline, command:mine",
        "  every other role (3 planners a round): offline",
        "Budget: 5 usd a run",
        "Sandbox: bubblewrap (sandbox.mode auto)",
        "Candidate: in-process if it is imported: known ways of abusing that are recognised",
    ]


def test_instructions_that_are_not_ours_are_named_and_bound() -> None:
    place = ".selfimprove/skills/planner/SKILL.md"
    one, other = (
        parse_skill(a_skill("planner", instructions=told), place, "repository")
        for told in ("# One", "# Other")
    )
    facts = [trust_facts(Settings(), "off", skills=own) for own in ((), (one,), (other,))]
    assert len({each.digest() for each in facts}) == 3
    lines = facts[1].lines()
    at = lines.index("Instructions to agents, in place of the bundled:")
    assert lines[at + 1] == f"  planner: {place} (sha256 {one.sha256[:12]})"


@pytest.mark.parametrize(
    "change",
    [
        {"benchmark_command": "python bench.py "},
        {"guards": []},
        {"provide": [{"path": ".venv", "for": ["benchmark"]}]},
        {"sandbox": {"network": "host"}},
        {"sandbox": {"devices": ["/dev/nvidia0"]}},
        {"env": ["API_URL", "API_KEY"]},
        {"agents": {}},
        {"agent_commands": ["make test"]},
        {"agent_paths": {"write": ["/data"]}},
        {"budget": {"run": {"usd": 6}}},
        {"services": [{"name": "db", "start": "postgres"}]},
        {"holdout_command": "x"},
        {"level": "reduced"},
        {"mounts": ("/opt (read-only)",)},
    ],
)
def test_every_fact_changes_the_digest(change: dict[str, object]) -> None:
    assert digest() == digest()
    assert digest(**change) != digest()  # type: ignore[arg-type]


def test_what_is_no_fact_does_not() -> None:
    assert digest(patience=3, target_value=1.0) == digest()


def test_nothing_hides_in_a_command() -> None:
    facts = trust_facts(Settings(benchmark_command="a\x1b[2K\rb\nc"), "off")
    assert "  benchmark: a\\x1b[2K\\rb\\nc" in facts.lines()
