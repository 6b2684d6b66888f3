"""The command line as typed, for messages that name the command to continue with."""

words: tuple[str, ...] = ()
"""Without `bentpipe`."""
