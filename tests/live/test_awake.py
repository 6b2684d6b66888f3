"""Processors stay awake while a run lasts, and no longer."""

import contextlib
import os
from pathlib import Path

import pytest
import real_runs
from hosting import Host

from bentpipe.engines.machine import has_processor_quota
from bentpipe.runs.store import Results
from invocation import called
from waiting import wait_for

pytestmark = real_runs.LIVE


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


LAB = """
title = "A short look"
duration = "200 ms"
[path]
rtt = "10 ms"
[[workload]]
name = "rtt"
kind = "ping"
count = 1
"""


@pytest.mark.parametrize(("said", "awake"), [(None, True), ("0", True), ("1", False)])
def test_a_run_keeps_processors_awake_unless_the_environment_lets_them_sleep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str | None, awake: bool
) -> None:
    if has_processor_quota():
        pytest.skip("a part of the processors' time only")
    monkeypatch.delenv("BENTPIPE_LET_SLEEP", raising=False)  # a repetition finds it gone
    if said is not None:
        monkeypatch.setenv("BENTPIPE_LET_SLEEP", said)
    (record,) = real_runs.run(tmp_path, LAB).records
    expected = min(len(os.sched_getaffinity(0)), 16) if awake else 0
    assert record["engine_error"]["processors_kept_awake"] == expected


def test_the_option_lets_them_sleep_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BENTPIPE_LET_SLEEP", raising=False)  # a repetition finds it gone
    (tmp_path / "lab.toml").write_text(LAB)
    said = called(["run", "lab.toml", "--engine", "live", "--let-sleep", "--out", "out"], tmp_path)
    assert said.status == 0, said
    (record,) = Results.open(tmp_path / "out").records
    assert record["engine_error"]["processors_kept_awake"] == 0
