"""The command line: a file for each command.

Results go to stdout, progress and errors to stderr. Exit status: 0 done, 1 some run failed or is unreliable,
2 the request was wrong, 130 interrupted.

A command's module imports at its top only what its options need. What the command itself needs is imported
in its function, so that neither help nor completion loads data frames. A plain command line is read without
typer (quick.py).
"""

_NEW_OBJECTS = 100_000
"""Until garbage is looked for. Loading makes many objects and hardly any garbage, and each looks at all."""


def main() -> None:
    import gc
    import sys

    from bentpipe import interruption
    from bentpipe.cli import quick, saying

    gc.set_threshold(_NEW_OBJECTS)
    interruption.watch()
    saying.write_what_the_encoding_lacks()
    if not quick.answered(sys.argv[1:]):
        from bentpipe.cli.app import app

        app(prog_name="bentpipe")
