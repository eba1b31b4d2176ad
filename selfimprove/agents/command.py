"""The command agent: any program that reads a request on stdin and ends with a JSON object."""

from __future__ import annotations

from typing import TYPE_CHECKING

from selfimprove.agents.base import AgentFailure, Workspace
from selfimprove.agents.extract import LIMIT, NotFoundError, last_object
from selfimprove.agents.schemas import check_output
from selfimprove.contracts.agent import AgentReply, AgentRequest, Usage
from selfimprove.contracts.settings import Settings
from selfimprove.errors import ConfigError
from selfimprove.room.room import Job

if TYPE_CHECKING:
    from selfimprove.process import Outcome

TRANSCRIPT_BYTES = 64 << 10
OUTPUT_CAP = 2 * LIMIT + (1 << 10)
"""The tail that is kept holds a whole answer of the largest size."""


class CommandAgent:
    """Runs the user's own program, once for each request."""

    needs_git = True
    in_room = True

    def __init__(self, command: str, _settings: Settings) -> None:
        if not command:
            raise ConfigError("agents: 'command:' names no program", "write command:SHELL WORDS")
        self.command = command

    @property
    def spec(self) -> str:
        """How it is written in settings."""
        return f"command:{self.command}"

    def ask(self, request: AgentRequest, workspace: Workspace) -> AgentReply:
        """Run the program in the workspace's tree and read its answer."""
        outcome = workspace.room.run(
            Job(
                command=self.command,
                tree=workspace.layers or workspace.tree,
                profile="agent",
                timeout=workspace.timeout,
                env=about(request),
                stdin=request.model_dump_json().encode(),
                read_only_tree=not workspace.writable,
                log=workspace.log,
                output_cap=OUTPUT_CAP,
            )
        )
        workspace.stop.raise_if_set()
        ended_badly(request.agent_id, outcome, workspace.timeout)
        try:
            answer, begin = last_object(outcome.stdout)
        except NotFoundError as error:
            raise AgentFailure("output", _no_answer(request, outcome, error)) from None
        return AgentReply(
            output=check_output(request, answer),
            usage=Usage(duration_s=round(outcome.duration_s, 3)),
            transcript=_text(outcome.stdout[:begin][-TRANSCRIPT_BYTES:]),
        )


def about(request: AgentRequest) -> dict[str, str]:
    """Give the variables that say what a request is about; the room adds the caller's own."""
    return {
        "SELFIMPROVE_ROLE": request.role,
        "SELFIMPROVE_ROUND": str(request.round),
        "SELFIMPROVE_AGENT_ID": request.agent_id,
        "SELFIMPROVE_SESSION_ID": request.session_id,
    }


def ended_badly(
    who: str, outcome: Outcome, timeout: float, usage: Usage | None = None, *, exits: bool = True
) -> None:
    """Raise AgentFailure where a program was cut short or, `exits`, did not end with 0."""
    if outcome.error:
        raise AgentFailure("crash", f"{who} could not be started: {outcome.error}")
    if outcome.timed_out:
        raise AgentFailure("timeout", f"{who} was still at it after {timeout:g} s", usage)
    if outcome.exit_code is None or outcome.exit_code < 0:
        died = "was killed" if outcome.exit_code is None else f"died of signal {-outcome.exit_code}"
        raise AgentFailure("crash", f"{who} {died}{_last_words(outcome)}", usage)
    if outcome.exit_code and exits:
        told = f"{who} exited with {outcome.exit_code}{_last_words(outcome)}"
        raise AgentFailure("exit", told, usage)


def _no_answer(request: AgentRequest, outcome: Outcome, error: NotFoundError) -> str:
    if not outcome.stdout.strip():
        return f"{request.agent_id} printed no answer{_last_words(outcome)}"
    cut = f" (only the last {LIMIT >> 20} MiB were looked at)" if outcome.truncated else ""
    return f"{request.agent_id}'s output: {error}{cut}"


def _last_words(outcome: Outcome) -> str:
    """Give the last line the program printed to stderr, else to stdout."""
    for stream in (outcome.stderr, outcome.stdout):
        lines = _text(stream[-2000:]).strip().splitlines()
        if lines:
            return f": {lines[-1].strip()[:300]}"
    return ""


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
