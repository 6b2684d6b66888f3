"""What `make test` uses where it was built, and does not build itself."""

import os
from pathlib import Path

import pytest


def needed(file: Path, by: str) -> Path:
    """The file that the command `by` builds. Where it is missing, the test is skipped; it fails where
    BENTPIPE_PLAYGROUND is `must`, as in .ci/run, which builds it."""
    if not file.is_file():
        why = f"{file} is missing; `{by}` builds it"
        if os.environ.get("BENTPIPE_PLAYGROUND") == "must":
            pytest.fail(why)
        pytest.skip(why)
    return file
