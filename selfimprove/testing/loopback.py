"""A server of a test's own on this machine, for as long as it is entered."""

from __future__ import annotations

import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


class Loopback:
    """Answers on a free port, in threads; what goes wrong in it is raised when it is left."""

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        self.errors: list[BaseException] = []
        """What went wrong in the server, or in what it asks."""
        self._http = _Http(("127.0.0.1", 0), handler)
        self._http.errors = self.errors
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        """The address, without any path."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()
        if error is None and self.errors:
            raise self.errors[0]


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    errors: list[BaseException]

    def handle_error(self, *_: Any) -> None:
        error = sys.exc_info()[1]
        if error is not None and not isinstance(error, OSError):  # who asked may have gone
            self.errors.append(error)
