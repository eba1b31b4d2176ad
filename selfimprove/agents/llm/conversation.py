"""One question to a model: its tools, its turns, its answer checked and mended, in one deadline."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic_ai import Agent, CachePoint, ModelRetry, StructuredDict, TextOutput, ToolOutput
from pydantic_ai.exceptions import (
    AgentRunError,
    ContentFilterError,
    ModelAPIError,
    ModelContextWindowExceededError,
    ModelRequestRejectedError,
    UnexpectedModelBehavior,
    UsageLimitExceeded,
)
from pydantic_ai.usage import UsageLimits

from selfimprove.agents.base import AgentFailure, FailureKind, Workspace
from selfimprove.agents.extract import NotFoundError, last_object
from selfimprove.agents.llm.limits import turns_of
from selfimprove.agents.llm.meter import Meter
from selfimprove.agents.llm.models import load, opened, settings_for
from selfimprove.agents.llm.names import ModelName
from selfimprove.agents.llm.patience import Call, OverBudgetError, PatientModel, described
from selfimprove.agents.llm.toolbox import sendable, tools_for
from selfimprove.agents.llm.transcript import Transcript
from selfimprove.agents.llm.warmth import Warmth
from selfimprove.agents.prompts import REQUEST, ROUND
from selfimprove.agents.schemas import check_output
from selfimprove.contracts.agent import AgentReply, AgentRequest
from selfimprove.contracts.settings import Settings
from selfimprove.process import StopToken

if TYPE_CHECKING:
    from pydantic_ai.output import OutputSpec

T = TypeVar("T")

REPAIRS = 3
"""How often an answer that does not fit is sent back in one conversation."""
LOOK_EVERY_S = 0.2
ANSWER = "answer"
HOW_TO_ANSWER = (
    "Look before you answer: you have tools, use them. When you are done, call the tool "
    f"`{ANSWER}` once with your whole answer, or end with it as one JSON object."
)


@dataclass(frozen=True)
class Conversation:
    """Who is asked what, and where."""

    name: ModelName
    request: AgentRequest
    workspace: Workspace
    settings: Settings
    meter: Meter
    warmth: Warmth = field(default_factory=Warmth)

    def reply(self) -> AgentReply:
        """Ask; raises AgentFailure with what was spent, and Stopped."""
        load(self.name)
        began = time.monotonic()
        until = began + self.workspace.timeout
        transcript = Transcript(self.workspace.log)
        try:
            answer = asyncio.run(within(self._ask(until, transcript), self.workspace.stop, until))
        except TimeoutError:
            told = f"was still at it after {self.workspace.timeout:g} s"
            raise self._failure("timeout", told, began) from None
        except AgentRunError as error:
            kind, told = _why(error)
            failure = self._failure(kind, told, began)
            failure.retry_after = getattr(error, "retry_after", None)
            raise failure from None
        usage = self.meter.usage(time.monotonic() - began)
        return AgentReply(output=answer, usage=usage, transcript=transcript.said())

    async def _ask(self, until: float, transcript: Transcript) -> dict[str, Any]:
        first = await self.warmth.turn(sendable(self.request.prompt).partition(REQUEST)[0])
        try:
            return await self._converse(until, transcript, partial(self.warmth.kept, first))
        finally:
            self.warmth.over(first)

    async def _converse(
        self, until: float, transcript: Transcript, began: Callable[[], None]
    ) -> dict[str, Any]:
        async with opened(self.name) as model:
            call = Call(self.meter, until, transcript.note, self.workspace.tab, began)
            agent = Agent(
                PatientModel(model, call),
                output_type=self._answers(),
                instructions=HOW_TO_ANSWER,
                tools=tools_for(self.request, self.workspace, self.settings, until),
                retries={"output": REPAIRS, "tools": REPAIRS},
                model_settings=settings_for(self.name),
            )
            agent.output_validator(self._checked)
            limits = UsageLimits(request_limit=turns_of(self.request.role))
            async with agent.iter(self._prompt(), usage_limits=limits) as run:
                async for node in run:
                    transcript.node(node)
            assert run.result is not None
            return run.result.output

    def _prompt(self) -> str | Sequence[str | CachePoint]:
        """The prompt, with marks where the part ends that is the same for others too.

        Without marks it is one text: templates of small servers know no message in parts.
        """
        prompt = sendable(self.request.prompt)
        always, _, later = prompt.partition(ROUND)
        shared, _, own = later.partition(REQUEST)
        if not own or self.name.scheme != "anthropic":
            return prompt
        this_round, this_request = ROUND.lstrip("\n") + shared, REQUEST.lstrip("\n") + own
        return [always, CachePoint(), this_round, CachePoint(), this_request]

    def _answers(self) -> OutputSpec[dict[str, Any]]:
        schema = StructuredDict(self.request.output_schema, name=ANSWER)
        tool = ToolOutput(
            schema, name=ANSWER, description="Give your whole answer, once, at the end."
        )
        return [tool, TextOutput(_object_in)]

    def _checked(self, output: dict[str, Any]) -> dict[str, Any]:
        try:
            return check_output(self.request, output)
        except AgentFailure as failure:
            raise ModelRetry(f"{failure.message}. Answer again, whole and mended.") from None

    def _failure(self, kind: FailureKind, told: str, began: float) -> AgentFailure:
        usage = self.meter.usage(time.monotonic() - began)
        key = self.name.key
        clean = told.replace(key, "[key]") if key else told
        return AgentFailure(kind, f"{self.request.agent_id} ({self.name.spec}): {clean}", usage)


def _object_in(text: str) -> dict[str, Any]:
    """The answer in a text, for models that do not call the tool."""
    try:
        return last_object(text.encode("utf-8", "surrogatepass"))[0]
    except NotFoundError as error:
        raise ModelRetry(
            f"{error}. If you are not done, go on with your tools; else call `{ANSWER}`."
        ) from None


def _why(error: AgentRunError) -> tuple[FailureKind, str]:
    """What a failed conversation is to the loop."""
    if isinstance(error, OverBudgetError):
        return "budget", str(error)
    if isinstance(error, ModelContextWindowExceededError):
        return "exit", f"its context is full: {described(error)}"
    if isinstance(error, ModelRequestRejectedError) and getattr(error, "status_code", 0) in (
        400,
        413,
        422,
    ):
        return "exit", described(error)
    if isinstance(error, ModelAPIError):
        wait = error.retry_after
        later = f"; it asks to wait {wait:g} s, longer than there is time" if wait else ""
        return "unreachable", described(error) + later
    if isinstance(error, ContentFilterError):
        return "output", f"the model refused to answer: {error}"[:400]
    if isinstance(error, UsageLimitExceeded):
        return "output", f"it came to no answer within its limits: {error}"[:400]
    if isinstance(error, UnexpectedModelBehavior):
        cause = f" ({error.__cause__})" if error.__cause__ else ""
        return "output", f"{error.message}{cause}"[:600]
    return "output", str(error)[:400]


async def within(work: Coroutine[Any, Any, T], stop: StopToken, until: float) -> T:
    """Carry work out until its deadline; raises TimeoutError, and Stopped when a person stops."""
    task = asyncio.ensure_future(work)
    try:
        while not task.done():
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError
            await asyncio.wait({task}, timeout=min(LOOK_EVERY_S, left))
            stop.raise_if_set()
        return task.result()
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=5)
