"""The playground as it is built."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from built import needed
from chromium import chromium


@pytest.fixture(scope="session")
def wasm(pytestconfig: pytest.Config) -> Path:
    """The simulator's module, which takes long to build."""
    return needed(pytestconfig.rootpath / "web/built/bentpipe.wasm", "make playground")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="session")
def page(pytestconfig: pytest.Config) -> Path:
    """The page of `bentpipe web`, which `make playground` builds and `make test` before the tests."""
    file = pytestconfig.rootpath / "python/bentpipe/web/page/index.html"
    assert file.is_file(), f"{file} is missing; `node web/build.js` builds it"
    return file
