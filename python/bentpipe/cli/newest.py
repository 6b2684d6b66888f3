"""The default folder of runs: the newest one in runs/."""

from pathlib import Path

from bentpipe.cli.saying import say
from bentpipe.errors import StoreError


def newest_folder(command: str) -> str:
    """The folder in runs/ that was written last, which is said. Raises StoreError."""
    from bentpipe.sweep.folder import newest

    folder = newest(Path("runs"))
    if folder is None:
        raise StoreError(f"there are no runs in runs/; say which folder: bentpipe {command} DIR")
    say(f"The newest runs are in {folder}.")
    return str(folder)
