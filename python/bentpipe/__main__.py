"""The command `bentpipe`, and `python -m bentpipe`.

Loads the rest within reach of its own handler: a Ctrl-C while libraries load is an interruption too.
"""

import sys


def main() -> None:
    try:
        from bentpipe.cli import main as command_line  # noqa: PLC0415 - see above

        command_line()
    except KeyboardInterrupt:
        sys.stderr.write("bentpipe: interrupted\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
