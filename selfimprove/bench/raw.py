"""What of a benchmark's output goes into a record: readable, redacted, bounded."""

from __future__ import annotations

from collections.abc import Iterable

LIMIT = 64 * 1024
_REDACTED = "***"
_SHORTEST_SECRET = 4
"""A shorter value is no secret, and blotting out every `1` would make the record useless."""


def redact(text: str, secrets: Iterable[str]) -> str:
    """`text` with each secret replaced by `***`; longest first, so that none is left in part."""
    for secret in sorted(set(secrets), key=lambda value: (-len(value), value)):
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, _REDACTED)
    return text


def raw_text(output: bytes, secrets: Iterable[str] = ()) -> str:
    """Output as text, at most 64 KiB of UTF-8: head and tail, the middle named and left out."""
    text = redact(output.decode("utf-8", "replace"), secrets)
    whole = text.encode()
    if len(whole) <= LIMIT:
        return text
    marker = f"\n[... {len(whole)} bytes in all, the middle is in the log ...]\n"
    half = (LIMIT - len(marker)) // 2
    # A character cut in two at an edge is left out.
    head, tail = whole[:half].decode(errors="ignore"), whole[-half:].decode(errors="ignore")
    return f"{head}{marker}{tail}"
