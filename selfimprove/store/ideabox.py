"""config/idea.md as a queue: ideas come in from a person, and go out once they are recorded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from selfimprove.errors import ConfigError
from selfimprove.ideas import append_idea, read_ideas
from selfimprove.resources import text as resource
from selfimprove.store.files import write_whole


class IdeaBox:
    """The queue in one file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def _text(self) -> str:
        try:
            return self._path.read_text(encoding="utf-8-sig")
        except FileNotFoundError:
            return ""
        except UnicodeDecodeError:
            raise ConfigError(f"{self._path}: not UTF-8", "save the file as UTF-8") from None
        except OSError as error:
            raise ConfigError(f"{self._path}: {error.strerror}", "mend or delete it") from None

    def queued(self) -> list[str]:
        """The ideas that wait, oldest first."""
        return read_ideas(self._text())

    def add(self, idea: str) -> None:
        """Queue one more."""
        before = self._text() or resource("templates/idea.md")
        write_whole(self._path, append_idea(before, idea).encode())

    def remove(self, ideas: Sequence[str]) -> None:
        """Take ideas out that are recorded; the file is not written where none of them waits."""
        waiting = self.queued()
        left = [idea for idea in waiting if idea not in ideas]
        if len(left) == len(waiting):
            return
        text = resource("templates/idea.md")
        for idea in left:
            text = append_idea(text, idea)
        write_whole(self._path, text.encode())
