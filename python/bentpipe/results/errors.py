"""What is wrong with results, in a sentence for whoever asked for them."""

from bentpipe.errors import BentpipeError


class StoreError(BentpipeError):
    """A folder or a table is not what it should be; the message says which and what was found."""


class ComparisonError(BentpipeError):
    """A comparison cannot be made as asked; the message says what was found and what was expected."""
