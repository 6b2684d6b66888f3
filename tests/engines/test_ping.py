"""What ping's output says, and what is worked out where it does not say it."""

import pytest

from bentpipe.engines.bench import End, Program
from bentpipe.engines.host_process import Exit
from bentpipe.engines.workloads import ping
from bentpipe.lab.spec import PingSpec

WALL_S = 1_700_000_000.0
SPEC = PingSpec(name="rtt", start_ns=0, count=6, interval_ns=20_000_000, size_bytes=56)


def output(replies: dict[int, tuple[float, str]], summary: str = "") -> str:
    """What `ping -D` prints for replies that came at these times of the run."""
    lines = [
        f"[{WALL_S + at_s:.6f}] 64 bytes from 10.77.0.2: icmp_seq={sequence} ttl=64 time={rtt} ms"
        for sequence, (at_s, rtt) in replies.items()
    ]
    counts = f"6 packets transmitted, {len(replies)} received, 0% packet loss, time 100ms"
    return "\n".join(["PING 10.77.0.2 56(84) bytes of data.", *lines, "", counts, summary, ""])


def rows(stdout: str) -> list[tuple[float, float | None]]:
    program = Program(["ping"], End.EXITED, Exit(0, None, None, 3.0), 0.5, stdout, "")
    found = ping.result(SPEC, program, wall_minus_run_s=WALL_S, round_trip_s=0.01)
    return [(row["time_s"], row["rtt_s"]) for row in found.pings]


def test_a_request_without_an_answer_was_sent_between_its_neighbours_however_late_ping_was() -> None:
    found = rows(output({2: (0.61, "10.0"), 5: (1.21, "10.0")}))
    assert [time_s for time_s, _ in found] == pytest.approx([0.58, 0.6, 0.8, 1.0, 1.2, 1.22], abs=1e-5)
    assert [rtt_s for _, rtt_s in found] == [None, 0.01, None, None, 0.01, None]


def test_where_nothing_was_answered_requests_follow_each_other_at_the_interval() -> None:
    assert [time_s for time_s, _ in rows(output({}))] == pytest.approx([0.5, 0.52, 0.54, 0.56, 0.58, 0.6])


def test_times_printed_in_whole_milliseconds_are_tightened_by_the_summary() -> None:
    replies = {n: (n / 10, "550") for n in range(1, 7)}
    found = rows(output(replies, "rtt min/avg/max/mdev = 549.900/550.100/550.400/0.100 ms"))
    times_ms = [rtt_s * 1e3 for _, rtt_s in found if rtt_s is not None]
    assert (min(times_ms), max(times_ms)) == pytest.approx((549.9, 550.4))
    assert sum(times_ms) / 6 == pytest.approx(550.1)


def test_an_answer_that_comes_twice_counts_once() -> None:
    said = output({1: (0.51, "10.0"), 2: (0.53, "10.0")})
    line = said.splitlines()[1]
    assert len([rtt for _, rtt in rows(said.replace(line, f"{line}\n{line} (DUP!)")) if rtt]) == 2


@pytest.mark.parametrize(("waited_s", "sent", "lost"), [(0.25, 5, 0), (0.35, 6, 1)])
def test_a_last_request_that_ping_gave_up_on_too_soon_is_not_lost(
    waited_s: float, sent: int, lost: int
) -> None:
    """The queue grew, so that the last answer takes up to 0.3 s; ping waits for 0.25 s, or for 0.35 s."""
    said = output({n: (n / 10, "125") for n in range(1, 6)})
    last_s = 0.5 - 0.125 + 0.02
    program = Program(["ping"], End.EXITED, Exit(1, None, None, last_s + waited_s), 0.0, said, "")
    found = ping.result(SPEC, program, wall_minus_run_s=WALL_S, round_trip_s=0.3)
    assert (found.entry["sent"], found.entry["lost"]) == (sent, lost)
    assert "why" not in found.entry


def test_a_request_before_the_last_answer_is_lost_however_soon_ping_ended() -> None:
    said = output({1: (0.2, "125"), 5: (0.5, "125"), 6: (0.52, "125")})
    program = Program(["ping"], End.EXITED, Exit(1, None, None, 0.52), 0.0, said, "")
    found = ping.result(SPEC, program, wall_minus_run_s=WALL_S, round_trip_s=0.3)
    assert (found.entry["sent"], found.entry["lost"]) == (6, 3)


def test_what_is_not_ping_is_no_measurement() -> None:
    program = Program(["ping"], End.EXITED, Exit(0, None, None, 1.0), 0.5, "hello", "")
    found = ping.result(SPEC, program, wall_minus_run_s=WALL_S, round_trip_s=0.01)
    assert "hello" in found.entry["why"]
    assert found.pings == []
