"""`bentpipe version`."""

from bentpipe import _core


def version() -> None:
    """Print bentpipe's version."""
    print(f"bentpipe {_core.__version__}")
