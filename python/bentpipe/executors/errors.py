"""What goes wrong with where runs are done."""

from bentpipe.errors import BentpipeError


class ExecutorError(BentpipeError):
    """Runs cannot be done there, or no longer. Those that were finished are kept."""
