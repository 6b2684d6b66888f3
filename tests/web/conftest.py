"""The playground as it is built."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def wasm(pytestconfig: pytest.Config) -> Path:
    """The simulator's module. Building it takes long, so that `make test` does not: where it is
    missing the test is skipped. .ci/run sets BENTPIPE_PLAYGROUND=must, by which it fails."""
    file = pytestconfig.rootpath / "web/built/bentpipe.wasm"
    if not file.is_file():
        why = f"{file.relative_to(pytestconfig.rootpath)} is missing; `make playground` builds it"
        if os.environ.get("BENTPIPE_PLAYGROUND") == "must":
            pytest.fail(why)
        pytest.skip(why)
    return file
