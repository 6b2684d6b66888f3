"""What goes wrong with where runs are done."""


class ExecutorError(Exception):
    """Runs cannot be done there, or no longer. Those that were finished are kept."""
