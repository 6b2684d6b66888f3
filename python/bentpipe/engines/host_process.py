"""The live engine's host process, seen from Python: one JSON object per line over a socket pair.

The host process holds the namespaces, the devices, the datapath and every program that a workload starts.
When our end of the socket closes, however we ended, it kills all of that and is gone.
"""

import asyncio
import contextlib
import json
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from bentpipe.errors import EngineError

_LINE_LIMIT = 1 << 26
_CLOSE_S = 0.7
_KILL_S = 0.3
_ANSWER_S = 20.0

Message = dict[str, Any]


class HostDiedError(Exception):
    """The host process ended in mid-run; the message holds the end of what it wrote to stderr, or said."""


@dataclass(frozen=True)
class Exit:
    """How a program ended: its status, or the signal that ended it, or why it never started."""

    status: int | None
    signal: int | None
    error: str | None
    at_s: float


class HostProcess:
    def __init__(
        self,
        process: subprocess.Popen[bytes],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        log: Path | None,
    ) -> None:
        self._process = process
        self._writer = writer
        self._log = log
        self._answers: dict[str, asyncio.Future[Message]] = {}
        self._exits: dict[str, asyncio.Future[Exit]] = {}
        self._ended: Exception | None = None
        self._trouble = ""
        self.on_trouble: Callable[[str], None] = lambda _message: None
        self._reading = asyncio.create_task(self._read(reader))

    @classmethod
    async def launch(cls, log: Path | None) -> Self:
        """Start the host process. Its stderr goes to `log`; without one it keeps this terminal, for a
        shell."""
        ours, theirs = socket.socketpair()
        with theirs, contextlib.ExitStack() as stack:
            stderr = stack.enter_context(log.open("wb")) if log else None
            process = subprocess.Popen(
                [sys.executable, "-m", "bentpipe.engines.live_host", str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL if log else None,
                stdout=stderr,
                stderr=stderr,
                # A Ctrl-C at the terminal is ours: the host process learns of it by the closed socket.
                start_new_session=log is not None,
            )
        try:
            reader, writer = await asyncio.open_connection(sock=ours, limit=_LINE_LIMIT)
        except BaseException:
            ours.close()
            process.kill()
            process.wait()
            raise
        return cls(process, reader, writer, log)

    @property
    def has_ended(self) -> bool:
        return self._ended is not None

    async def ask(self, op: str, answer: str, *, within_s: float = _ANSWER_S, **fields: Any) -> Message:
        """Send a request and wait for the event that answers it."""
        future = asyncio.get_running_loop().create_future()
        self._answers[answer] = future
        self._send({"op": op, **fields})
        try:
            return await asyncio.wait_for(future, within_s)
        except TimeoutError:
            raise HostDiedError(f"the host process did not answer `{op}` within {within_s:g} s") from None
        finally:
            self._answers.pop(answer, None)

    def spawn(self, program: str, **fields: Any) -> asyncio.Future[Exit]:
        """Start a program under the name `program`; the future is done when it has ended."""
        future: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()
        self._exits[program] = future
        self._send({"op": "spawn", "id": program, **fields})
        return future

    def channels(self, workload: str) -> asyncio.Future[Exit]:
        """Begin a workload of the setup's `channels`; the future is done when it is over."""
        future: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()
        self._exits[workload] = future
        self._send({"op": "channels", "id": workload})
        return future

    def signal(self, program: str, number: int) -> None:
        self._send({"op": "signal", "id": program, "signal": number})

    async def close(self) -> None:
        """End the host process and everything in it: by the closed socket, by force where it is busy or an
        interruption comes meanwhile. Takes a second at most."""
        self._writer.transport.abort()  # what is still to be sent would put the close off
        self._reading.cancel()
        try:
            await asyncio.to_thread(self._process.wait, _CLOSE_S)
        except BaseException as error:
            self._process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_KILL_S)
            if not isinstance(error, subprocess.TimeoutExpired):
                raise

    def _send(self, message: Message) -> None:
        if self._ended:
            raise self._ended
        self._writer.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            while line := await reader.readline():
                self._take(json.loads(line))
        except (OSError, ValueError) as error:
            self._end(HostDiedError(f"could not parse the host process's output: {error}"))
            return
        await asyncio.to_thread(self._wait_quietly)
        self._end(HostDiedError(f"the host process ended unexpectedly{self._last_words()}"))

    def _take(self, event: Message) -> None:
        name = event["event"]
        if name == "exited":
            future = self._exits.pop(event["id"], None)
            if future and not future.done():
                at_ns = event.get("at_ns")
                at_s = at_ns / 1e9 if at_ns is not None else 0.0
                future.set_result(Exit(event.get("status"), event.get("signal"), event.get("error"), at_s))
        elif name == "trouble":
            self._trouble = str(event["message"])
            self.on_trouble(self._trouble)
        elif name == "refused":
            self._end(EngineError(event["message"], what=event.get("what"), remedy=event.get("remedy")))
        elif (answer := self._answers.get(name)) and not answer.done():
            answer.set_result(event)

    def _end(self, error: Exception) -> None:
        self._ended = self._ended or error
        waiting: list[asyncio.Future[Any]] = [*self._answers.values(), *self._exits.values()]
        for future in waiting:
            if not future.done():
                future.set_exception(self._ended)
                future.exception()  # marks it as seen: a workload that is being cancelled will not look

    def _wait_quietly(self) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_CLOSE_S)

    def _last_words(self) -> str:
        said = self._log.read_text(errors="replace").strip() if self._log and self._log.exists() else ""
        said = said or self._trouble
        return f": {said[-2000:]}" if said else ""
