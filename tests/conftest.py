"""What holds for every test: whether it passes must not depend on chance, on the time or on other work."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A shell starts its background jobs with SIGINT ignored, and nohup ignores SIGHUP. A signal that a test
# sends would be lost there.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Six live tests go beside each other. Processes that keep idle processors awake would take all the time that
# is left; tests/live/test_awake.py tests them.
os.environ["BENTPIPE_LET_SLEEP"] = "1"

# How long an example takes, or takes to be drawn, says more of the machine's other work than of the code.
patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
# The same examples each time. `--hypothesis-profile explore`, as in `make test-loop`, draws others each time.
settings.register_profile("same", patient, derandomize=True, database=None)
settings.register_profile("explore", patient, print_blob=True)
settings.load_profile("same")

TESTS = Path(__file__).parent
LIVE_FOLDERS = {TESTS / "live", TESTS / "cli"}
"""Where `make test` looks for live tests."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        live = item.get_closest_marker("live") is not None
        if live and item.path.parent not in LIVE_FOLDERS:
            raise pytest.UsageError(f"{item.nodeid}: a live test must be in tests/live or tests/cli")
        if item.get_closest_marker("alone") is not None and not live:
            raise pytest.UsageError(f"{item.nodeid}: only live tests may ask to be alone")
        if any(not mark.args for mark in item.iter_markers("long")):
            raise pytest.UsageError(f"{item.nodeid}: a long test says why it is long")
