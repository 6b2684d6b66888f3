"""A watch of this host's connections, like `bentpipe doctor --watch`, with updates while it runs."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any

from bentpipe.errors import BentpipeError, EngineError
from bentpipe.words.printable import printable

_EVERY_S = 0.1
_LOOK_S = 1.0
_LONGEST_S = 3600.0


class HostWatch:
    """One at a time. It takes no rights and sends nothing."""

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._closing = False
        self.state: dict[str, Any] = {"status": "none"}

    async def start(self, what: str, for_s: float) -> None:
        """Raises StoreError where there is no such thing to watch, EngineError where this system cannot."""
        words, watching = await asyncio.to_thread(_begun, what)
        if self._task is not None and not self._task.done():
            with watching:
                raise EngineError("a watch is running already; stop it first", what="watch")
        self.state = {"status": "running", "words": words, "for_s": min(for_s, _LONGEST_S)}
        self._task = asyncio.create_task(self._look(watching, min(for_s, _LONGEST_S)))
        self._tell()

    async def stop(self) -> None:
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task])

    async def close(self) -> None:
        self._closing = True
        await self.stop()
        self._tell()

    async def messages(self) -> AsyncIterator[str]:
        """How it stands, as server-sent events; to a page that reads slowly fewer of them."""
        while not self._closing:
            changed = self._changed
            yield f"data: {json.dumps(self.state, ensure_ascii=False)}\n\n"
            try:
                await asyncio.wait_for(changed.wait(), 15.0)
            except TimeoutError:
                yield ": still here\n\n"

    async def _look(self, watching: Any, for_s: float) -> None:
        begun_s = time.monotonic()
        try:
            with watching:
                while (passed_s := time.monotonic() - begun_s) < for_s:
                    self._show(await asyncio.to_thread(_seen, watching), passed_s)
                    await asyncio.sleep(min(_LOOK_S, for_s - passed_s))
                self._show(await asyncio.to_thread(_seen, watching), for_s)
            self.state["status"] = "over"
        except asyncio.CancelledError:
            self.state["status"] = "over"
        except BentpipeError as error:
            self.state |= {"status": "failed", "message": printable(str(error))}
        finally:
            self._tell()

    def _show(self, found: dict[str, Any], passed_s: float) -> None:
        self.state |= {**found, "passed_s": round(passed_s, 1)}
        self._tell()

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


def _begun(what: str) -> tuple[str, Any]:
    """What is watched, in words, and the watch."""
    from bentpipe.doctor.watching import MOST_SHARE, Watching, watched  # noqa: PLC0415 - slow to load

    over = watched(what or None)
    return printable(over.words), Watching(over, _EVERY_S, MOST_SHARE)


def _seen(watching: Any) -> dict[str, Any]:
    from bentpipe.doctor.diagnosis import diagnose_all  # noqa: PLC0415 - slow to load
    from bentpipe.doctor.words import transfer_lines  # noqa: PLC0415

    seen = watching.seen_so_far()
    found = diagnose_all(seen.transfers)
    told = [printable(line) for line in transfer_lines(found, [[] for _ in found], [None for _ in found])]
    return {"so_far": watching.so_far(), "lines": told, "remarks": [printable(each) for each in seen.remarks]}
