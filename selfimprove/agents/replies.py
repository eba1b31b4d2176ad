"""Kept replies: what an agent answered, so that a resumed step does not pay for it again."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from selfimprove.contracts.agent import AgentReply, AgentRequest
from selfimprove.contracts.base import Record
from selfimprove.errors import ContractError
from selfimprove.redaction import Redactor
from selfimprove.store.files import json_bytes, remove, write_whole


class KeptReply(Record):
    """One answer as it was paid for."""

    additions: ClassVar[frozenset[str]] = frozenset({"commit", "odd"})

    key: str
    spec: str
    session_id: str
    reply: AgentReply
    commit: str = ""
    """The commit that holds what an executor edited; its tree is gone by now."""
    odd: dict[str, str] = Field(default_factory=dict)
    """What its tree held that no commit can: path -> reason."""


def request_key(request: AgentRequest, spec: str) -> str:
    """Give the SHA-256 that names a request to one agent, the same on a second try."""
    # contexts are large: compact, by C code alone
    canonical = json.dumps(request.document(), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(f"{spec}\0{canonical}".encode()).hexdigest()


class ReplyStore:
    """A folder with one file for each kept reply."""

    def __init__(self, directory: Path, redactor: Redactor | None = None) -> None:
        self.directory = directory
        self._redactor = redactor

    def _path(self, key: str) -> Path:
        return self.directory / f"{key}.json"

    def tab(self, session: str) -> Path:
        """Where the spending of a question under way is kept."""
        return self.directory / f"{session.partition('/')[2].replace('/', '-')}.tab"

    def get(self, key: str) -> KeptReply | None:
        """Give the reply kept under `key`; None where there is none or it cannot be read.

        A damaged reply is no reason to stop: the agent is asked again.
        """
        path = self._path(key)
        try:
            kept = KeptReply.parse_json(path.read_bytes(), str(path))
        except (FileNotFoundError, ContractError):
            return None
        return kept if kept.key == key else None

    def put(self, kept: KeptReply) -> KeptReply:
        """Keep a reply durably before anything is made of it; gives it as it was kept."""
        if self._redactor is not None:
            document = self._redactor.document(kept.document())
            kept = KeptReply.parse(document, "a reply without its secrets")
        write_whole(self._path(kept.key), json_bytes(kept.document()))
        return kept

    def drop(self, key: str) -> None:
        """Forget a reply."""
        remove(self._path(key))
