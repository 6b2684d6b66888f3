"""The process that runs a lab for the page: `python -m bentpipe.web.run_process`.

It reads a request, a line of JSON, from stdin, and tells how it goes on in lines of JSON on stdout. When
stdin ends, which it also does when the server dies, it ends as at a Ctrl-C: what is done is kept, and nothing
else is left.
"""

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any, BinaryIO

from bentpipe import interruption
from bentpipe.errors import BentpipeError, EngineError
from bentpipe.runs.record import Record
from bentpipe.sweep.progress_state import State, outcome
from bentpipe.web.bins import Bin, Tail, of_finished

_LOOK_S = 0.1
_BINS_AT_ONCE = 500
_WHOLE_EACH_S = 0.5
"""Short runs follow each other: not each is shown."""


class Teller:
    """Writes what happens, a line each."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._lock = threading.Lock()

    def tell(self, event: str, **fields: Any) -> None:
        line = json.dumps({"event": event, **fields}, ensure_ascii=False).encode()
        with self._lock:
            self._out.write(line + b"\n")
            self._out.flush()


class Watching:
    """The sweep's watcher: tells of each step, and of the bins of the run that goes on."""

    def __init__(self, teller: Teller, folder: Path) -> None:
        self._tell = teller.tell
        self._folder = folder
        self._state = State()
        self._lock = threading.Lock()
        self._tails: dict[str, Tail] = {}
        self._shown_s = 0.0
        threading.Thread(target=self._look, daemon=True).start()

    def sweep_begins(self, runs: int, done: int, length_s: float, at_once: int) -> None:
        self._state.begins(runs, done, length_s, at_once)
        self._tell("begins", **self._progress(), folder=str(self._folder))

    def say(self, line: str) -> None:
        self._tell("says", line=line)

    def run_begins(self, name: str, length_s: float) -> None:
        with self._lock:
            self._state.run_begins(name, length_s)
            self._tails[name] = Tail(self._folder / f".{name}.part" / "raw" / "link.csv")
        self._tell("run", name=name, **self._progress())

    def run_is_at(self, name: str, seconds: float, detail: str = "") -> None:
        with self._lock:
            self._state.run_is_at(name, seconds)
        self._tell("at", name=name, detail=detail, **self._progress())

    def run_ends(self, name: str, record: Record) -> None:
        with self._lock:
            self._tails.pop(name, None)
            self._state.run_ends(name, record)
        now_s = time.monotonic()
        if now_s > self._shown_s + _WHOLE_EACH_S or not self._state.running:
            self._shown_s = now_s
            self._bins(name, of_finished(self._folder / name), anew=True)
        words = outcome(record)
        self._tell("ended", name=name, status=record["status"], words=words, **self._progress())

    def _progress(self) -> dict[str, Any]:
        state = self._state
        return {
            "runs": state.runs,
            "ended": state.ended,
            "failed": state.failed,
            "length_s": state.length_s,
            "completed_s": state.completed_s,
            "left_s": state.left_s if state.runs else None,
        }

    def _look(self) -> None:
        while True:
            time.sleep(_LOOK_S)
            with self._lock:
                name, tail = next(iter(self._tails.items()), ("", None))
                if tail is not None and (found := tail.more()):
                    self._bins(name, found)

    def _bins(self, name: str, found: list[Bin], *, anew: bool = False) -> None:
        for first in range(0, max(len(found), 1), _BINS_AT_ONCE):
            self._tell("bins", name=name, bins=found[first : first + _BINS_AT_ONCE], anew=anew and not first)


def main() -> int:
    """Its status is as `bentpipe run`'s."""
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # the server may have been started with it ignored
    teller = Teller(os.fdopen(os.dup(sys.stdout.fileno()), "wb"))
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints is no event
    request = json.loads(sys.stdin.buffer.readline())
    interruption.watch()
    threading.Thread(target=_until_stdin_ends, daemon=True).start()
    try:
        failed = _do(request, teller)
    except KeyboardInterrupt:
        teller.tell("over", status="cancelled", message="")
        return interruption.INTERRUPTED
    except BentpipeError as error:
        remedy = getattr(error, "remedy", None) if "remedy" not in str(error) else None
        help_ = f" To fix it, run: {remedy}" if remedy and remedy not in str(error) else ""
        teller.tell("over", status="failed", message=f"{error}{help_}")
        return 2
    teller.tell("over", status="done", message="")
    return 1 if failed else 0


def _do(request: dict[str, Any], teller: Teller) -> int:
    from bentpipe.engines import lab_commands  # noqa: PLC0415 - a Ctrl-C while it loads is heard
    from bentpipe.engines.base import EngineOptions  # noqa: PLC0415
    from bentpipe.lab.load import Lab  # noqa: PLC0415
    from bentpipe.sweep import run as runner  # noqa: PLC0415

    more = {"set": request["set"], "repeat": request["repeat"]}
    text = request["text"]
    lab = (
        Lab.loads(text, name=request["lab"], **more) if text is not None else Lab.load(request["lab"], **more)
    )
    # Not even those of a lab that comes with bentpipe, which `bentpipe run` allows.
    if commands := lab_commands.of(point.spec for point in lab.points()):
        raise EngineError(
            f"{lab_commands.listed(commands)}\nA page starts no commands. In a terminal: "
            "bentpipe run --allow-exec",
            what="allow-exec",
        )
    tally = runner.Tally()
    folder = Path(request["out"])
    runner.execute(
        lab,
        engine=request["engine"],
        out=folder,
        options=EngineOptions(watched=True),
        watcher=Watching(teller, folder),
        tally=tally,
        on_left_out=lambda variant, why: teller.tell("says", line=f'variant "{variant}" is left out: {why}'),
        on_warning=lambda words: teller.tell("says", line=words),
    )
    return tally.failed


def _until_stdin_ends() -> None:
    while os.read(sys.stdin.fileno(), 1 << 16):
        pass
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    sys.exit(main())
