"""Renders what an agent is asked: its skill, the documents it reads, and the answer's schema.

What is the same for everybody who has the role comes first, then what is the same for the round,
then what this one alone is told: providers keep such beginnings, and ask less for them.
Documents are data: they are fenced, and cut in the middle where they are long. The command agent
gets them whole in `context`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from selfimprove import resources
from selfimprove.agents.schemas import output_schema
from selfimprove.agents.skills import load_skill
from selfimprove.contracts.agent import AgentRequest, AgentRole

if TYPE_CHECKING:
    from jinja2 import Environment

READS = (
    "goal", "settings", "history", "brief", "plan", "plans", "rules", "ideas", "feedback", "change",
)  # fmt: skip
FACTS = ("family", "files", "attempts", "profile", "lessons", "calibration", "nearest", "found",
         "answers", "left")  # fmt: skip
"""Besides the documents: the families and files a planner may use, past attempts, hot spots, what
all rounds taught by family, how sure planners were and how often right, and the dead ends that a
plan is like. At set-up: what was found in the repository, what a person answered, and how many
questions are left."""
ROUND, REQUEST = "\n# This round\n", "\n# This request\n"
"""Where a prompt stops being the same in every round, and for everybody who has the role."""
NEEDED: dict[AgentRole, tuple[str, ...]] = {
    "researcher": ("goal",),
    "planner": ("goal", "family"),
    "architect": ("goal", "plan"),
    "critic": ("goal", "plan"),
    "executor": ("goal", "plan"),
    "goal-clarifier": ("goal", "found", "answers", "left"),
    "benchmark-builder": ("goal", "found"),
}
UNSAID = {"sha256", "hidden"}
"""Fields that no prompt shows: what is hidden is hidden from agents too."""


@dataclass(frozen=True)
class Question:
    """Who is asked what; `context` holds the documents that the role reads, whole."""

    role: AgentRole
    round: int
    agent_id: str
    session_id: str
    context: Mapping[str, Any] = field(default_factory=dict)
    instructions: str = ""
    """Of the skill that the run has for the role; the bundled one's where nothing is said."""


def build_request(question: Question) -> AgentRequest:
    """Give the request with its prompt and the schema of its answer."""
    return AgentRequest(
        role=question.role,
        round=question.round,
        agent_id=question.agent_id,
        session_id=question.session_id,
        prompt=render(question),
        context=dict(question.context),
        output_schema=output_schema(question.role),
    )


def render(question: Question) -> str:
    """Render the prompt; a template that names what the context lacks fails loudly."""
    missing = [name for name in NEEDED.get(question.role, ()) if name not in question.context]
    if missing:
        raise KeyError(f"the context of {question.agent_id} lacks {', '.join(missing)}")
    shown = dict.fromkeys((*READS, *FACTS)) | dict(question.context)
    shown |= {
        "disqualified": _disqualified(shown["history"] or []),
        "instructions": question.instructions or load_skill(question.role).instructions,
        "round": question.round,
        "agent_id": question.agent_id,
        "output_schema": _schema_text(question.role),
    }
    text = _environment().get_template(f"{question.role}.md.j2").render(shown)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def quoted(value: Any, limit: int) -> str:
    """Fence a value so that nothing in it can end the fence, cut in the middle at `limit`."""
    text = value if isinstance(value, str) else to_json(_said(value), indent=1).decode()
    text = shortened(text, limit)
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{text}\n{fence}"


def latest(records: list[Any], limit: int) -> list[Any]:
    """As many whole records from the end as fit, and one in any case."""
    kept, size = 0, 0
    for record in reversed(records):
        size += len(to_json(_said(record), indent=1)) + 2
        if kept and size > limit:
            break
        kept += 1
    return records[len(records) - kept :]


def shortened(text: str, limit: int) -> str:
    """Cut a text in its middle, saying how much is left out."""
    if len(text) <= limit:
        return text
    head, tail = limit * 2 // 3, limit // 3
    return f"{text[:head]}\n[... {len(text) - head - tail} characters left out ...]\n{text[-tail:]}"


def _disqualified(history: list[dict[str, Any]]) -> list[str]:
    """What was tried in earlier rounds and does not count: the history may be cut where it is."""
    return [
        f"{loser['plan_id']}: {told['technique']}: {told['evidence']}"
        for record in history
        for loser in record.get("losers", [])
        if (told := loser.get("disqualification"))
    ]


@cache
def _schema_text(role: AgentRole) -> str:
    return json.dumps(output_schema(role), ensure_ascii=False, indent=1)


def _said(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _said(item) for key, item in value.items() if key not in UNSAID}
    return value


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(resources.folder("templates") / "prompts"),
        undefined=StrictUndefined,
        autoescape=False,  # Markdown for a model, not HTML: data is fenced by quoted()
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters["quoted"] = quoted
    environment.filters["latest"] = latest
    return environment
