"""Carries connections from a room's own network to the ports that are named.

Nothing of it runs inside: a short-lived process of ours enters the room's network before the
command is let go, opens the listening sockets there, and hands them out.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from selfimprove.errors import ToolError
from selfimprove.process import Child, run_child
from selfimprove.room.channels import Pipe
from selfimprove.room.network import Port

ENTER_S = 20.0
CHUNK = 1 << 16

_ENTER = """
import ctypes, errno, fcntl, os, socket, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def enter(descriptor, kind):
    if libc.setns(descriptor, kind):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
net = os.open(f"/proc/{sys.argv[1]}/ns/net", os.O_RDONLY)
NS_GET_USERNS, CLONE_NEWUSER, CLONE_NEWNET = 0xB701, 0x10000000, 0x40000000
enter(fcntl.ioctl(net, NS_GET_USERNS), CLONE_NEWUSER)
enter(net, CLONE_NEWNET)
until = time.monotonic() + 5
opened, own = [], socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for index, word in enumerate(sys.argv[3:]):
    address, port = word.rsplit(":", 1)
    if ":" not in address and not address.startswith("127."):
        SIOCSIFADDR, packed = 0x8916, socket.inet_aton(address)
        asked = (f"lo:{index}".encode(), socket.AF_INET, 0, packed, b"")
        fcntl.ioctl(own, SIOCSIFADDR, struct.pack("16sHH4s8s", *asked))
    one = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    while True:  # bubblewrap tells of its child before that has brought the loopback up
        try:
            one.bind((address, int(port)))
            break
        except OSError as error:
            if error.errno != errno.EADDRNOTAVAIL or time.monotonic() > until:
                raise
            time.sleep(0.005)
    one.listen(128)
    opened.append(one)
socket.send_fds(socket.socket(fileno=int(sys.argv[2])), [b"."], [one.fileno() for one in opened])
"""
"""Joins the network of a process and its owner's namespace, and sends back what listens there."""


class Relay:
    """Holds a room's command back until the named ports are open in it, and serves them."""

    def __init__(self, ports: Sequence[Port]) -> None:
        self._ports = ports
        self._info, self._gate = Pipe(), os.pipe()
        self._over = threading.Event()
        self._error = ""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._last = asyncio.Event()
        self._thread = threading.Thread(target=self._work, name="relay", daemon=True)

    @property
    def descriptors(self) -> tuple[int, int]:
        """What bubblewrap is given as `--info-fd` and `--block-fd`."""
        return self._info.given, self._gate[0]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._loop is not None:
            with suppress(RuntimeError):  # it has ended by itself
                self._loop.call_soon_threadsafe(self._last.set)
        self._thread.join()
        self._info.__exit__()
        for end in self._gate:
            os.close(end)

    def check(self) -> None:
        """Raise ToolError where the ports could not be opened."""
        if self._error:
            raise ToolError(
                f"sandbox.network: the ports could not be opened in the room: {self._error}",
                "see `selfimprove doctor`",
            )

    def _work(self) -> None:
        process = self._first_process()
        if process is None:
            return
        listening = self._listening(process)
        if self._error:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
            return
        asyncio.run(self._serve(listening))

    def _first_process(self) -> int | None:
        said = b""
        while not self._over.is_set():
            if select.select([self._info.reading], [], [], 0.05)[0]:
                said += self._info.read()
                with suppress(ValueError):
                    return int(json.loads(said)["child-pid"])
        return None

    def _listening(self, process: int) -> list[socket.socket]:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            words = [f"{one.address}:{one.number}" for one in self._ports]
            argv = [sys.executable, "-I", "-S", "-c", _ENTER]
            argv += [str(process), str(theirs.fileno()), *words]
            child = Child(tuple(argv), Path("/"), {}, ENTER_S, pass_fds=(theirs.fileno(),))
            outcome = run_child(child)
            if outcome.exit_code != 0:
                said = outcome.stderr.decode(errors="replace").strip().splitlines()
                self._error = outcome.error or (said[-1] if said else "it took too long")
                return []
            _, descriptors, _, _ = socket.recv_fds(ours, 1, len(words))
            return [socket.socket(fileno=one) for one in descriptors]

    async def _serve(self, listening: list[socket.socket]) -> None:
        busy: set[asyncio.Task[None]] = set()
        servers = []
        for one, port in zip(listening, self._ports, strict=True):

            async def carry(
                reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: Port = port
            ) -> None:
                task = asyncio.current_task()
                assert task is not None
                busy.add(task)
                try:
                    await _carry(reader, writer, port)
                finally:
                    busy.discard(task)

            servers.append(await asyncio.start_server(carry, sock=one))
        os.write(self._gate[1], b".")
        self._loop = asyncio.get_running_loop()
        if not self._over.is_set():
            await self._last.wait()
        for server in servers:
            server.close()
        for task in list(busy):
            task.cancel()
        await asyncio.gather(*busy, return_exceptions=True)


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: Port) -> None:
    """One connection, until both sides have ended."""
    try:
        there, back = await asyncio.open_connection(port.host, port.number)
    except OSError:
        writer.close()  # as if nobody listened
        return
    try:
        await asyncio.gather(_pump(reader, back), _pump(there, writer))
    finally:
        for one in (back, writer):
            one.close()


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await source.read(CHUNK):
            sink.write(data)
            await sink.drain()
        sink.write_eof()
