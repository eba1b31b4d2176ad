from __future__ import annotations

from typing import Any, get_args

import pytest
from jinja2 import Environment, meta
from ruamel.yaml import YAML

from selfimprove.agents.prompts import FACTS, READS
from selfimprove.agents.skills import ASKED, AT_SETUP, LARGEST, bundled, load_skill, parse_skill
from selfimprove.contracts.agent import AgentRole
from selfimprove.errors import ConfigError
from selfimprove.resources import folder, text
from selfimprove.testing import a_skill

KINDS = {
    "researcher": "brief",
    "planner": "plan",
    "architect": "advice",
    "critic": "critique",
    "executor": "diff",
    "goal-clarifier": "goal",
    "benchmark-builder": "benchmark",
}


def test_every_role_has_a_skill_with_what_comes_of_it() -> None:
    assert {skill.id: skill.manifest.artifact_kind for skill in bundled()} == KINDS
    assert set(KINDS) == set(get_args(AgentRole))
    assert [skill.id for skill in bundled() if skill.asked] == list(ASKED)


@pytest.mark.parametrize("role", list(KINDS))
def test_a_bundled_skill_keeps_to_the_agent_skills_format(role: Any) -> None:
    skill = load_skill(role)
    assert 40 < len(skill.description) <= 1024
    assert skill.instructions.startswith("# ")
    front = YAML(typ="safe").load(text(f"skills/{role}/SKILL.md").split("---\n")[1])
    assert front["name"] == front["metadata"]["id"] == role
    assert front["description"] == skill.description
    assert {type(value) for value in front["metadata"].values()} == {str}  # as the format has it


@pytest.mark.parametrize("role", [*ASKED, *AT_SETUP])
def test_accepted_inputs_are_the_documents_that_the_prompt_shows(role: AgentRole) -> None:
    prompts = folder("templates") / "prompts"
    names = [f"{role}.md.j2", "_base.md.j2"]
    if "_earlier" in (prompts / names[0]).read_text():
        names.append("_earlier.md.j2")
    shown: set[str] = set()
    for name in names:
        template = Environment(autoescape=False).overlay()
        template.filters |= {"quoted": str, "latest": str}
        shown |= meta.find_undeclared_variables(template.parse((prompts / name).read_text()))
    assert set(load_skill(role).manifest.accepted_inputs) == shown & {*READS, *FACTS}


def test_a_skill_is_read_whatever_wrote_it() -> None:
    made = a_skill("linter", instructions="# T\n").replace(b"\n", b"\r\n")
    skill = parse_skill(b"\xef\xbb\xbf" + made, "x/linter/SKILL.md", "repository")
    assert (skill.id, skill.instructions, skill.source) == ("linter", "# T", "repository")
    assert not skill.asked
    lists = a_skill("linter", capability_tags=["a", "b-c"], author="somebody", version=2)
    assert parse_skill(lists, "linter/SKILL.md").manifest.capability_tags == ("a", "b-c")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"# Only text\n", "no front matter; begin with a line '---'"),
        (b"---\nname: [\n---\n# T\n", "front matter: not YAML"),
        (b"---\nname: x: y\n---\n# T\n", "front matter: not YAML"),
        (b"---\n- a\n---\n# T\n", "SkillFront: Input should be"),
        (b"---\nname: planner\ndescription: d\n---\n# T\n", "metadata: Field required; add"),
        (a_skill("planner", id="critic"), "metadata.id: it is 'critic'; write 'planner'"),
        (a_skill("critic"), "name: it is 'critic'; write 'planner'"),
        (a_skill("planner", description=" "), "description: "),
        (a_skill("planner", artifact_kind="A plan"), "metadata.artifact_kind: String should match"),
        (a_skill("planner", artifact_kind=None), "metadata.artifact_kind: "),
        (a_skill("planner", accepted_inputs=""), "metadata.accepted_inputs: "),
        (a_skill("planner", capability_tags=["a b"]), "metadata.capability_tags.0: "),
        (a_skill("planner", instructions=" \n"), "no instructions; write them below"),
        (a_skill("planner", instructions="x" * LARGEST), "bytes, and at most 65,536 may be"),
        (b"---\n\xff\n---\n", "not UTF-8; save the file as UTF-8"),
    ],
)
def test_a_bad_skill_is_refused_in_one_line(data: bytes, says: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_skill(data, "my/planner/SKILL.md", "repository")
    assert str(refused.value).startswith("my/planner/SKILL.md: ")
    assert says in str(refused.value)
    assert "; " in str(refused.value)
    assert "\n" not in str(refused.value)
