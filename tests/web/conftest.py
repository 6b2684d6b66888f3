"""The playground as it is built."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from in_browser import LONG_MS
from playwright.sync_api import Browser, sync_playwright


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


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        program = shutil.which("chromium")
        chromium = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"], timeout=LONG_MS)
        yield chromium
        chromium.close()
