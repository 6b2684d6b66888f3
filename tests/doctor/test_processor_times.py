"""The share of a core that programs of this end used or waited for, in a transfer's time."""

import pytest

from bentpipe.doctor.processes import _Process, _ThreadTimes


def looked_at(*, until_s: float, busy: tuple[float, float]) -> _ThreadTimes:
    """A thread that was looked at every 0.1 s, and needed a core from one time to the other."""
    thread = _ThreadTimes(began_here=True, times_s=[], used_s=[])
    for number in range(round(until_s * 10) + 1):
        now_s = number / 10
        thread.add(now_s, min(max(now_s - busy[0], 0.0), busy[1] - busy[0]))
    return thread


@pytest.mark.parametrize(
    ("busy", "transfer", "share"),
    [((10, 13), (10, 13), 1.0), ((10, 13), (9, 15), 0.5), ((10, 13), (20, 23), 0.0), ((0, 9), (9, 12), 0.0)],
)
def test_a_share_is_that_of_the_transfers_own_time(
    busy: tuple[float, float], transfer: tuple[float, float], share: float
) -> None:
    assert looked_at(until_s=30, busy=busy).share(*transfer) == pytest.approx(share)


def test_a_thread_that_ended_counts_up_to_the_last_look_at_it() -> None:
    thread = looked_at(until_s=2.9, busy=(0, 3))
    thread.gone_s = 3.0
    assert thread.share(0, 3) == pytest.approx(1.0)
    assert thread.share(0, 6) == pytest.approx(2.9 / 5.9)


def test_what_a_thread_did_before_it_was_seen_is_not_known() -> None:
    thread = _ThreadTimes(began_here=False, times_s=[2.0, 3.0], used_s=[500.0, 501.0])
    assert thread.share(1.5, 3) == pytest.approx(1.0)
    assert thread.share(0, 3) is None
    assert thread.share(2, 8) is None


def test_fewer_points_give_the_same_share() -> None:
    thread = looked_at(until_s=30, busy=(10, 13))
    before = len(thread.times_s)
    left = thread.thin_out()
    assert left == len(thread.times_s) == len(thread.used_s) < before
    assert thread.times_s[-1] == 30.0
    assert thread.share(10, 13) == pytest.approx(1.0, abs=0.1)


def test_a_thread_that_had_used_more_than_the_time_since_the_last_look_is_an_older_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bentpipe.doctor.processes._names", lambda _folder: ["7", "8"])
    monkeypatch.setattr("bentpipe.doctor.processes._read", lambda _file: b"some-program\n")
    used_s = {"7": 0.1, "8": 50.0}
    monkeypatch.setattr("bentpipe.doctor.processes._used_s", lambda file: used_s[file.split("/")[-2]])
    process = _Process(7)
    process.look(1.1, 1.0)
    assert {number: thread.began_here for number, thread in process.threads.items()} == {
        "7": True,
        "8": False,
    }
    assert process.name == "some-program"
