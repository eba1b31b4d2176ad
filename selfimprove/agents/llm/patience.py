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

from selfimprove.agents.llm.limits import MOST_INPUT
from selfimprove.agents.llm.meter import Meter, estimated
from selfimprove.agents.llm.prices import Tokens

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.settings import ModelSettings

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0
LEAST_CHARACTERS = 3
"""That a token stands for, in code and prose; so a conversation's size is not underestimated."""
UNREACHED = 6
"""So often a server that cannot be reached at all is tried; about half a minute."""


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
        if _characters(messages) > MOST_INPUT * LEAST_CHARACTERS:
            raise UsageLimitExceeded(f"the conversation has grown beyond {MOST_INPUT} tokens")
        attempt = 0
        while True:
            attempt += 1
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
                    pass
            response = stream.get()
            whole = response.finish_reason is not None and response.state == "complete"
        finally:
            if opened is not None:
                self._call.meter.charge(_tokens(opened, messages, whole=whole))
        if not whole:
            raise CutOffError(self.model_name, "the answer was cut off")
        return response

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


def _tokens(stream: StreamedResponse, messages: list[ModelMessage], *, whole: bool) -> Tokens:
    """What a request cost: as its provider counted, or estimated where that came not through."""
    used = stream.usage
    read, written = used.input_tokens, used.output_tokens
    if not whole:
        parts = stream.get().parts
        said = sum(len(str(getattr(part, "content", ""))) + len(_arguments(part)) for part in parts)
        written = max(written, estimated(said))
    if not read:
        read = estimated(_characters(messages))
    return Tokens(read, written, used.cache_read_tokens, used.cache_write_tokens)


def _characters(messages: list[ModelMessage]) -> int:
    """How long a conversation is, what stands around its parts included."""
    return sum(len(str(part)) for message in messages for part in message.parts)


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
