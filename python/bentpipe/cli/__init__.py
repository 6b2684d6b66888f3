"""The command line: a file for each command.

Results go to stdout, progress and errors to stderr. Exit status: 0 done, 1 some run failed or is unreliable,
2 the request was wrong, 130 interrupted.

A command's module imports at its top only what its options need. What the command itself needs is imported
in its function, so that neither help nor completion loads data frames.
"""


def main() -> None:
    from bentpipe.cli.app import main as command_line

    command_line()
