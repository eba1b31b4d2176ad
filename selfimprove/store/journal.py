"""The journal: append-only segments of chained envelopes, one segment a round."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Generator, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from selfimprove.contracts.base import utc_now
from selfimprove.contracts.envelope import FIRST_PREV, Draft, Envelope
from selfimprove.errors import ContractError
from selfimprove.store.files import sync_folder

ANCHOR = "anchor.json"
"""What is left of segments that were pruned."""
_SEGMENT = re.compile(r"round_(\d+)\.jsonl")


def encode(envelope: Envelope) -> bytes:
    """An envelope as its journal line, without the newline."""
    document = envelope.model_dump(mode="json")
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode(
        "utf-8", "backslashreplace"
    )


def digest(line: bytes) -> str:
    """What the next line's `prev` holds."""
    return sha256(line).hexdigest()


def segment_numbers(folder: Path) -> list[int]:
    """The rounds that have a segment, in order."""
    if not folder.is_dir():
        return []
    found = (_SEGMENT.fullmatch(entry.name) for entry in folder.iterdir())
    return sorted(int(match[1]) for match in found if match)


def read_lines(path: Path) -> list[bytes]:
    """The whole lines of a segment; a torn last one does not count."""
    data = path.read_bytes()
    return data[: data.rfind(b"\n") + 1].splitlines() if data else []


def decode(line: bytes, where: str) -> Envelope:
    """A journal line as an envelope; raises ContractError."""
    return Envelope.parse_json(line, where)


def read_segment(path: Path) -> list[Envelope]:
    """The envelopes of one segment; raises ContractError for a line that is none."""
    return [decode(line, f"{path}:{number}") for number, line in enumerate(read_lines(path), 1)]


def is_checkpoint(envelope: Envelope) -> bool:
    """Whether this envelope holds the folded state."""
    return envelope.type == "control" and "state" in envelope.payload


class Journal:
    """Appends to the last segment; a line counts once its newline is on disk."""

    def __init__(self, folder: Path, trace_id: str) -> None:
        self._folder = folder
        self._trace_id = trace_id
        self._seq = 0
        self._prev = FIRST_PREV
        self._closed = True
        self.number = -1
        numbers = segment_numbers(folder)
        if numbers:
            self._continue(numbers)

    def _continue(self, numbers: list[int]) -> None:
        self.number = numbers[-1]
        ensure_chained(self._folder, numbers)
        mend(self._folder / f"round_{self.number}.jsonl")
        for number in reversed(numbers):
            lines = read_lines(self._folder / f"round_{number}.jsonl")
            if lines:
                last = decode(lines[-1], f"round_{number}.jsonl:{len(lines)}")
                self._seq, self._prev = last.seq, digest(lines[-1])
                self._closed = number != self.number or is_checkpoint(last)
                if number != self.number:
                    self._closed = False  # the newest segment exists and waits for its first line
                return
        self._closed = False  # nothing was ever written whole: the same for the very first segment

    def append(self, draft: Draft) -> Envelope:
        """Chain, number and date a message, write it durably, and return it.

        The first message after a checkpoint opens the next segment.
        """
        if self._closed:
            self.number += 1
            self._closed = False
        envelope = self.preview(draft)
        line = encode(envelope)
        self._write(line)
        self._seq, self._prev = envelope.seq, digest(line)
        self._closed = is_checkpoint(envelope)
        return envelope

    def is_open_for(self, number: int) -> bool:
        """Whether lines are still added to this segment."""
        return self.number == number and not self._closed

    def preview(self, draft: Draft) -> Envelope:
        """The envelope that a message would become if it were appended now."""
        return Envelope(
            id=f"msg_{self._seq + 1}",
            seq=self._seq + 1,
            prev=self._prev,
            trace_id=self._trace_id,
            timestamp=utc_now(),
            **draft.model_dump(),
        )

    def _write(self, line: bytes) -> None:
        path = self._folder / f"round_{self.number}.jsonl"
        new = not path.exists()
        if new:
            self._folder.mkdir(parents=True, exist_ok=True)
        with path.open("ab", buffering=0) as file:  # closing must not try again what failed
            start, left = file.tell(), memoryview(line + b"\n")
            try:
                while left:
                    left = left[file.write(left) :]
                os.fsync(file.fileno())
            except OSError as error:
                # a full disk may have taken half of the line: the next append must not follow it
                os.ftruncate(file.fileno(), start)
                error.filename = error.filename or str(path)
                raise
        if new:
            sync_folder(self._folder)


def mend(path: Path) -> int:
    """Cut a torn last line off a segment; returns how many bytes were cut."""
    with path.open("r+b") as file:
        data = file.read()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            file.truncate(whole)
            os.fsync(file.fileno())
    return len(data) - whole


def chained(
    folder: Path, after: tuple[int, str, int] = (-1, FIRST_PREV, 0)
) -> Iterator[tuple[str, str]]:
    """Check the chain of the whole journal; yields (where, what is wrong), nothing when sound.

    Where it was pruned it begins `after` a segment: its number, its last line's digest and seq.
    """
    first, prev, seq = after
    numbers = [number for number in segment_numbers(folder) if number > first]
    if numbers and numbers != list(range(first + 1, first + 1 + len(numbers))):
        gone = sorted({*range(first + 1, numbers[-1])} - {*numbers})
        yield f"round_{gone[0]}.jsonl", "missing"
    for number in numbers:
        path = folder / f"round_{number}.jsonl"
        data = path.read_bytes()
        if not data.endswith(b"\n") and (data or number != numbers[-1]):
            yield path.name, "torn or empty last line"
        try:
            prev, seq = yield from _links(path, prev, seq)
        except ContractError as error:
            yield error.what.split(": ")[0], str(error)
            return


def _links(path: Path, prev: str, seq: int) -> Generator[tuple[str, str], None, tuple[str, int]]:
    """Check one segment after a line with this digest and number; returns those of its last."""
    for index, line in enumerate(read_lines(path), 1):
        where = f"{path.name}:{index}"
        envelope = decode(line, where)
        if envelope.prev != prev:
            yield where, "the hash chain is broken: `prev` is not the digest of the line before"
        if envelope.seq != seq + 1:
            yield where, f"seq is {envelope.seq}, expected {seq + 1}"
        prev, seq = digest(line), envelope.seq
    return prev, seq


def ensure_chained(folder: Path, numbers: Sequence[int]) -> None:
    """Check the last segment and its link to the one before; raises ContractError for a break.

    What a start goes on from must be what was written; `validate` looks at the whole journal.
    """
    paths = [folder / f"round_{number}.jsonl" for number in numbers]
    written = [path for path in paths[-3:] if read_lines(path)]  # the newest may be torn or empty
    if not written:
        return
    prev, seq = _anchored(folder)
    if len(written) > 1:
        lines = read_lines(written[-2])
        where = f"{written[-2].name}:{len(lines)}"
        prev, seq = digest(lines[-1]), _decoded(folder, lines[-1], where).seq
    try:
        broken = next(_links(written[-1], prev, seq), None)
    except ContractError as error:
        raise _broken(folder, error.what) from None
    if broken is not None:
        raise _broken(folder, ": ".join(broken))


def _anchored(folder: Path) -> tuple[str, int]:
    """Digest and number of the line before the first segment: the last one that was pruned."""
    path = folder / ANCHOR
    if not path.is_file():
        return FIRST_PREV, 0
    try:
        line = str(json.loads(path.read_bytes())["line"]).encode()
    except (ValueError, KeyError, TypeError):
        raise _broken(folder, f"{ANCHOR}: not an anchor") from None
    return digest(line), _decoded(folder, line, ANCHOR).seq


def _decoded(folder: Path, line: bytes, where: str) -> Envelope:
    try:
        return decode(line, where)
    except ContractError as error:
        raise _broken(folder, error.what) from None


def _broken(folder: Path, what: str) -> ContractError:
    return ContractError(
        f"{folder}/{what}", "the journal was changed by hand: see `selfimprove validate`"
    )


def last_checkpoint(envelopes: list[Envelope]) -> dict[str, Any] | None:
    """The folded state that a segment ends with, if it is closed."""
    if envelopes and is_checkpoint(envelopes[-1]):
        state: dict[str, Any] = envelopes[-1].payload["state"]
        return state
    return None
