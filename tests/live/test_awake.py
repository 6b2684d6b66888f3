"""Processors stay awake while a run lasts, and no longer."""

import contextlib
import os
from pathlib import Path

import pytest
from hosting import Host

from waiting import wait_for

pytestmark = pytest.mark.live


def spinning(host: Host) -> dict[int, set[int]]:
    """Processes of the run that run only when nothing else wants a processor, each with its processors."""
    init = host.init()
    assert init is not None
    found = {}
    for child in map(int, Path(f"/proc/{init}/task/{init}/children").read_text().split()):
        with contextlib.suppress(OSError):  # it has ended
            descriptors = list(Path(f"/proc/{child}/fd").iterdir())
            if os.sched_getscheduler(child) == os.SCHED_IDLE and not descriptors:
                found[child] = os.sched_getaffinity(child)
    return found


def test_each_processor_has_a_process_that_gives_way_to_all_others(user: str) -> None:
    expected = [{processor} for processor in sorted(os.sched_getaffinity(0))[:16]]
    with Host(user) as host:
        host.setup(keep_awake=True)
        host.start()
        assert wait_for(lambda: sorted(spinning(host).values(), key=min) == expected), spinning(host)
        processes = list(spinning(host))
        for process in processes:
            share = Path(f"/proc/{process}/autogroup")
            assert not share.exists() or share.read_text().endswith("nice 19\n")
        host.say("stop")
        report = host.hear()
        assert report["engine_error"]["processors_kept_awake"] == len(expected)
        assert not any(each["programs"] for each in report["engine_error"]["hosts"].values())
        assert not any(Path(f"/proc/{process}").exists() for process in processes)


def test_those_of_a_shell_may_sleep(user: str) -> None:
    with Host(user) as host:
        host.setup()
        host.start()
        assert spinning(host) == {}
        host.say("stop")
        assert host.hear()["engine_error"]["processors_kept_awake"] == 0
