"""A model that is asked again while its provider is busy, and whose every request is counted.

Every request is streamed: a long answer needs it, and a stream that breaks off is seen. Nothing is
waited for that lies beyond the deadline of the whole question.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic_ai.exceptions import (
    AgentRunError,
    ModelAPIError,
    ModelConnectionError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    UnexpectedModelBehavior,
    UsageLimitExceeded,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.wrapper import WrapperModel

from selfimprove.agents.llm.limits import MAX_TOKENS, MOST_INPUT
from selfimprove.agents.llm.meter import Meter, estimated
from selfimprove.agents.llm.prices import Tokens
from selfimprove.agents.purse import Tab
from selfimprove.contracts.agent import Usage

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.settings import ModelSettings

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0
FRAME_TOKENS = 1_000
"""What a provider may put around a request, at most."""
WAIT_S = 0.1
"""Between looks at whether others have given something back."""
UNREACHED = 6
"""So often a server that cannot be reached at all is tried; about half a minute."""


class OverBudgetError(AgentRunError):
    """A request that might cost more than is left."""


class CutOffError(ModelAPIError):
    """A stream that ended before the answer did."""


@dataclass(frozen=True)
class Call:
    """What the requests of one question share."""

    meter: Meter
    until: float
    """When the answer must be there, by the monotonic clock."""
    note: Callable[[str], None]
    """Told what happens, a line each."""
    tab: Tab | None = None
    """Where each request is reserved beforehand, where there are budgets."""
    began: Callable[[], None] = lambda: None
    """Told each time that an answer begins."""


class PatientModel(WrapperModel):
    """Asks the wrapped model until it answers or nothing more can be hoped for."""

    def __init__(self, wrapped: Model, call: Call) -> None:
        super().__init__(wrapped)
        self._call = call

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Ask once, in as many attempts as it takes; raises ModelAPIError."""
        worst = most_tokens(messages, model_request_parameters)
        if worst > MOST_INPUT:
            raise UsageLimitExceeded(f"the conversation has grown beyond {MOST_INPUT} tokens")
        attempt = 0
        while True:
            attempt += 1
            await self._reserve(worst)
            try:
                return await self._attempt(messages, model_settings, model_request_parameters)
            except ModelAPIError as error:
                pause = self._pause(error, attempt)
                if pause is None:
                    raise
                self._call.meter.retries += 1
                self._call.note(f"{described(error)}; asked again in {pause:.1f} s")
            await asyncio.sleep(pause)

    async def _attempt(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        parameters: ModelRequestParameters,
    ) -> ModelResponse:
        opened: StreamedResponse | None = None
        whole = False
        try:
            async with self.wrapped.request_stream(messages, model_settings, parameters) as stream:
                opened = stream
                async for _ in stream:
                    self._call.began()
            response = stream.get()
            whole = response.finish_reason is not None and response.state == "complete"
        finally:
            if opened is not None:
                worst = most_tokens(messages, parameters)
                self._call.meter.charge(_tokens(opened, messages, None if whole else worst))
            if self._call.tab is not None:
                self._call.tab.settle(self._call.meter.usage(0))
        if not whole:
            raise CutOffError(self.model_name, "the answer was cut off")
        if not opened.usage.total_tokens:
            self._call.note("the server tells no usage: tokens are estimated from the characters")
        return response

    async def _reserve(self, read: int) -> None:
        """Reserve a request's worst case; waits while others may give something back."""
        tab, price = self._call.tab, self._call.meter.price
        if tab is None:
            return
        usd = price.worst(read, MAX_TOKENS) if price is not None else 0.0
        worst = Usage(input_tokens=read, output_tokens=MAX_TOKENS, usd=usd, calls=1)
        while refused := tab.reserve(worst):
            if not tab.waits():
                costs = f"{read + MAX_TOKENS:,} tokens" + (f" and ${usd:.4f}" if usd else "")
                raise OverBudgetError(f"{refused}, and its next request may take {costs}")
            await asyncio.sleep(WAIT_S)

    def _pause(self, error: ModelAPIError, attempt: int) -> float | None:
        """Seconds until it is worth another attempt; None where it is not."""
        if isinstance(error, ModelRequestRejectedError | ModelQuotaExceededError):
            return None
        if isinstance(error, ModelHTTPError):
            if error.provider_retry_hint is False:
                return None
            if error.status_code < 500 and not isinstance(error, ModelRateLimitError):
                return None
        if isinstance(error, ModelConnectionError | CutOffError) and attempt >= UNREACHED:
            return None
        grown = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** min(attempt - 1, 10))
        jitter = random.uniform(0.75, 1.25)
        pause = grown * jitter if error.retry_after is None else error.retry_after
        return pause if time.monotonic() + pause < self._call.until else None


def _tokens(stream: StreamedResponse, messages: list[ModelMessage], cut: int | None) -> Tokens:
    """What a request cost: as its provider counted, or estimated where that came not through.

    `cut` is what the request may have come to at most where its answer broke off: what was read is
    then booked at that, so that a budget holds.
    """
    used = stream.usage
    read, written = used.input_tokens, used.output_tokens
    if cut is not None:
        parts = stream.get().parts
        said = sum(len(str(getattr(part, "content", ""))) + len(_arguments(part)) for part in parts)
        written = max(written, estimated(said))
    if not read:
        read = cut or estimated(sum(map(len, _texts(messages))))
    return Tokens(read, written, used.cache_read_tokens, used.cache_write_tokens)


def most_tokens(messages: list[ModelMessage], parameters: ModelRequestParameters) -> int:
    """What a request may come to at most: a token for two characters of code, more for others."""
    texts = [*_texts(messages), str(parameters)]
    return FRAME_TOKENS + sum(
        len(text.encode("utf-8", "replace")) - len(text) // 2 for text in texts
    )


def _texts(messages: list[ModelMessage]) -> list[str]:
    """What a request says, what stands around its parts included."""
    told = (getattr(message, "instructions", None) or "" for message in messages[-1:])
    return [*(str(part) for message in messages for part in message.parts), *told]


def _arguments(part: object) -> str:
    """A tool call's arguments as they came through."""
    given = getattr(part, "args", None)
    return given if isinstance(given, str) else ""


def described(error: ModelAPIError | UnexpectedModelBehavior) -> str:
    """What a provider said, short and without the request around it."""
    if not isinstance(error, ModelHTTPError):
        return str(error)[:300]
    body = error.body
    if isinstance(body, dict) and isinstance(body.get("error"), dict):
        body = body["error"]
    told = body.get("message") if isinstance(body, dict) else body
    return f"HTTP {error.status_code}: {str(told or error)[:300]}"
