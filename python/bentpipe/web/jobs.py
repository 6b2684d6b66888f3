"""The page's running lab: one at a time, in its own process, with its progress."""

import asyncio
import json
import sys
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from bentpipe.errors import EngineError
from bentpipe.web.bins import COLUMNS, Series

_LINES = 100
_LINE_BYTES = 1 << 22
_STOP_S = 6.0
"""How long a process that was told to end may take; it needs some 1.5 s."""
_BETWEEN_S = 0.1
"""Between two messages to a page."""
_STILL_HERE_S = 15.0


class Job:
    """A lab that was started."""

    def __init__(self, number: int, request: Mapping[str, Any], process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.series = Series()
        self.generation = 0
        """Counts up where the series begins anew or is made coarser."""
        self.lines: deque[str] = deque(maxlen=_LINES)
        self.state: dict[str, Any] = {
            "number": number,
            "lab": request["lab"],
            "engine": request["engine"],
            "folder": Path(request["out"]).name,
            "status": "starting",
            "message": "",
            "run": "",
            "detail": "",
            "runs": 0,
            "ended": 0,
            "failed": 0,
            "length_s": 0.0,
            "completed_s": 0.0,
            "left_s": None,
        }

    @property
    def runs(self) -> bool:
        return self.state["status"] in ("starting", "running", "ending")

    def hear(self, event: dict[str, Any]) -> None:
        """What the process told."""
        kind, name = event.pop("event"), event.pop("name", self.state["run"])
        if kind == "bins":
            if event["anew"] or name != self.state["run"]:
                self.series = Series()
                self.generation += 1
                self.state["run"] = name
            before_s = self.series.bin_s
            self.series.add(event["bins"])
            self.generation += self.series.bin_s != before_s
            return
        if kind == "says":
            self.lines.append(event["line"])
            return
        if kind == "run" and self.state["runs"] <= 1:
            self.state["run"] = name
        if kind == "ended":
            self.lines.append(f"{name}: {event.pop('words')}")
            event.pop("status")
        event.pop("folder", None)
        self.state.update(event)
        if kind != "over" and self.state["status"] == "starting":
            self.state["status"] = "running"


class Jobs:
    """Begins, ends and tells of them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0
        self._changed = asyncio.Event()
        self._closing = False
        self._reading: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        self.job: Job | None = None

    async def start(self, request: dict[str, Any]) -> Job:
        """Raises EngineError where one runs already."""
        async with self._starting:
            return await self._start(request)

    async def _start(self, request: dict[str, Any]) -> Job:
        if self.job is not None and self.job.runs:
            raise EngineError("a lab is running already; cancel it, or wait until it is done", what="job")
        self._folder.mkdir(parents=True, exist_ok=True)
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "bentpipe.web.run_process",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=_LINE_BYTES,
            start_new_session=True,  # a Ctrl-C is for the server, which tells the process
        )
        self._count += 1
        job = self.job = Job(self._count, request, process)
        assert process.stdin is not None
        process.stdin.write(json.dumps(request).encode() + b"\n")
        self._reading = asyncio.create_task(self._read(job))
        self._tell()
        return job

    async def cancel(self) -> None:
        """As a Ctrl-C does: what is done is kept."""
        job = self.job
        if job is None or not job.runs:
            return
        job.state["status"] = "ending"
        self._tell()
        assert job.process.stdin is not None
        job.process.stdin.close()
        try:
            await asyncio.wait_for(asyncio.shield(self._ended()), _STOP_S)
        except TimeoutError:
            with suppress(ProcessLookupError):
                job.process.kill()
            await self._ended()

    async def close(self) -> None:
        """Ends what runs, and every stream."""
        self._closing = True
        await self.cancel()
        self._tell()

    async def messages(self) -> AsyncIterator[str]:
        """How it goes on, for one page, as server-sent events.

        A page that reads slowly gets fewer of them: each says how it stands when it is sent, so nothing is
        kept for it.
        """
        known: dict[str, int] = {}
        generation = (-1, -1)
        before = ""
        while not self._closing:
            changed = self._changed
            job = self.job
            if job is None:
                message: dict[str, Any] = {"job": None}
            else:
                if generation != (job.state["number"], job.generation):
                    generation, known = (job.state["number"], job.generation), {}
                message = {
                    "job": {**job.state, "lines": list(job.lines)},
                    "series": {
                        "key": ".".join(map(str, generation)),
                        "bin_s": job.series.bin_s,
                        "names": COLUMNS,
                        "pipes": job.series.since(known),
                    },
                }
                known = job.series.lengths()
            text = json.dumps(message, ensure_ascii=False)
            if text != before:
                before = text
                yield f"data: {text}\n\n"
            try:
                await asyncio.wait_for(changed.wait(), _STILL_HERE_S)
            except TimeoutError:
                yield ": still here\n\n"
            await asyncio.sleep(_BETWEEN_S)

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def _ended(self) -> None:
        if self._reading is not None:
            await asyncio.wait([self._reading])

    async def _read(self, job: Job) -> None:
        process = job.process
        assert process.stdout is not None
        assert process.stderr is not None
        said = asyncio.create_task(process.stderr.read())
        try:
            async for line in process.stdout:
                job.hear(json.loads(line))
                self._tell()
        finally:
            status = await process.wait()
            words = (await said).decode(errors="replace").strip()
            if job.runs:  # it said nothing of its end
                asked = job.state["status"] == "ending"
                job.state["status"] = "cancelled" if asked else "failed"
                if not asked:
                    job.state["message"] = words[-2000:] or f"the process ended with status {status}"
            self._tell()
