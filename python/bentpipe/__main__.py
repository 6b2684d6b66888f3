"""The command `bentpipe`, and `python -m bentpipe`.

Loads the rest within reach of its own handler: a Ctrl-C while libraries load is an interruption too.
"""

import os
import signal
import sys
from types import FrameType

INTERRUPTED = 130


def main() -> None:
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup ignores the end of its terminal
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
