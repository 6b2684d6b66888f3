"""The command `bentpipe`, and `python -m bentpipe`.

Loads the rest within reach of its own handler: a Ctrl-C while libraries load is an interruption too.
"""

import os
import signal
import sys
from types import FrameType

INTERRUPTED = 130


def main() -> None:
    _open_closed_streams()
    for name in ("SIGTERM", "SIGHUP"):  # Windows has no SIGHUP
        number = getattr(signal, name, None)
        # nohup has a process ignore the end of its terminal; it stays so.
        if number and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
    try:
        from bentpipe.cli import main as command_line  # noqa: PLC0415 - see above

        command_line()
    except KeyboardInterrupt:
        sys.stderr.write("bentpipe: interrupted\n")
        _leave()
    except SystemExit as end:
        if end.code == INTERRUPTED:
            _leave()
        raise


def _open_closed_streams() -> None:
    """Gives a stream that was closed (`<&-`, `>&-`) the null device, or the next file opened would take its
    number. Python sets such a stream to None."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 - stays open


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _leave() -> None:
    """Python itself would end by SIGINT instead, where the KeyboardInterrupt had come up through an `exec` of
    text, as dataclasses do while they load."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    main()
