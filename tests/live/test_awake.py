"""Processors stay awake while a run lasts, and no longer."""

import os
from pathlib import Path

import pytest
from hosting import Host, wait_for

pytestmark = pytest.mark.live


def spinning(host: Host) -> dict[int, set[int]]:
    """Processes of the run that run only when nothing else wants a processor, each with its processors."""
    init = host.init()
    assert init is not None
    children = map(int, Path(f"/proc/{init}/task/{init}/children").read_text().split())
    return {child: os.sched_getaffinity(child) for child in children if is_spinning(child)}


def is_spinning(process: int) -> bool:
    descriptors = list(Path(f"/proc/{process}/fd").iterdir())
    return os.sched_getscheduler(process) == os.SCHED_IDLE and not descriptors


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
