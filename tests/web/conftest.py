"""The playground as it is built."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def wasm(pytestconfig: pytest.Config) -> Path:
    """The simulator's module, which `make wasm` builds and `make test` before the tests."""
    file = pytestconfig.rootpath / "web/built/bentpipe.wasm"
    assert file.is_file(), f"{file} is missing; `make wasm` builds it"
    return file
