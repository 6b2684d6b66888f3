"""The command line as it was typed, for what a command says of how to go on."""

words: tuple[str, ...] = ()
"""Without `bentpipe`."""
