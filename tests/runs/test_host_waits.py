"""What the hosts' programs went without, judged by synthetic figures: no machine is too busy for them."""

from typing import Any

import pytest

from bentpipe.report import engine_words
from bentpipe.runs.figures.reliability import assess
from bentpipe.runs.summary import summary

LIMITS = {
    "lateness_p99_s": 0.001,
    "unintended_loss": 0,
    "rate_error": 0.01,
    "host_stopped_s": 0,
    "host_wait_share": 0.1,
    "bulk_wait_share": 0.5,
    "channels_wait_share": 0.55,
    "host_wait_max_s": 0.25,
    "sampler_late_s": 1,
}


def program(name: str, **changes: Any) -> dict[str, Any]:
    quiet = {
        "program": name,
        "threads": 1,
        "ran_s": 0.2,
        "waited_s": 0.05,
        "wait_share": 0.005,
        "wait_max_ms": 3.0,
        "wait_max_at_s": 2.5,
        "stopped_s": 0.0,
        "stopped_at_s": None,
    }
    return quiet | changes


def error(*of_server: dict[str, Any], **changes: Any) -> dict[str, Any]:
    figures = ("wait_share", "wait_max_ms", "stopped_s")
    hosts = {
        name: {**{key: max((each[key] for each in found), default=0) for key in figures}, "programs": found}
        for name, found in (("client", [program("iperf3")]), ("server", list(of_server)))
    }
    path = {"lateness_us_p99": 60, "lateness_count": 10, "unintended_loss": 0, "rate_error": None}
    return {**path, "hosts": hosts, "sampler_late_ms_p99": 2.0, "sampler_late_ms_max": 30.0, **changes}


def test_hosts_that_waited_little_leave_a_run_reliable() -> None:
    assert assess(error(program("iperf3"), program("nginx")), LIMITS) == (True, [])


def test_near_and_far_are_named_without_an_article() -> None:
    forwarder = program("split near", wait_share=0.5)
    found = error(hosts={"near": {"wait_share": 0.5, "programs": [forwarder]}})
    [why] = assess(found, LIMITS)[1]
    assert why.startswith("split near at near waited for a processor for 50 % of its time")


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (
            program("iperf3", stopped_s=2.0, stopped_at_s=12.1),
            "iperf3 on the server was stopped for about 2 s, from about 12.1 s; the limit is 0 s",
        ),
        (
            program("nginx", wait_share=0.17),
            "nginx on the server waited for a processor for 17 % of its time; the limit is 10 %",
        ),
        (
            program("iperf3", wait_share=0.64),
            "iperf3 on the server waited for a processor for 64 % of its time; the limit is 50 %",
        ),
        (
            program("nginx", wait_share=1.0),
            "nginx on the server waited for a processor for 100 % of its time; the limit is 10 %",
        ),
        (
            program("nginx", stopped_s=140.0, stopped_at_s=12.1),
            "nginx on the server was stopped for about 140 s, from about 12.1 s; the limit is 0 s",
        ),
        (
            program("channel servers", wait_share=0.8),
            "channel servers on the server waited for a processor for 80 % of its time",
        ),
        (
            program("iperf3", wait_max_ms=321.6),
            "iperf3 on the server waited for a processor for 322 ms before 2.5 s; the limit is 250 ms",
        ),
    ],
)
def test_each_limit_of_the_hosts_passed_is_a_reason_that_names_the_program(
    found: dict[str, Any], says: str
) -> None:
    reliable, why = assess(error(found), LIMITS)
    assert not reliable
    assert len(why) == 1
    assert says in why[0]


def test_a_stream_may_wait_longer_than_a_fetch_since_buffers_absorb_it() -> None:
    assert assess(error(program("iperf3", wait_share=0.3)), LIMITS) == (True, [])
    assert assess(error(program("channels", wait_share=0.52)), LIMITS) == (True, [])
    for starved in (program("curl", wait_share=0.3), program("iperf3", wait_share=0.52)):
        assert assess(error(starved), LIMITS)[0] is False


def test_a_watch_that_saw_nothing_for_long_is_a_reason() -> None:
    reliable, why = assess(error(sampler_late_ms_max=2_100.0), LIMITS)
    assert not reliable
    assert "up to 2.1 s late; the limit is 1 s" in why[0]
    assert assess(error(sampler_late_ms_max=None), LIMITS)[0] is False


def test_limits_that_are_not_set_do_not_bind() -> None:
    starved = program("iperf3", stopped_s=2.0, stopped_at_s=1.0, wait_share=0.9, wait_max_ms=900.0)
    assert assess(error(starved), {"lateness_p99_s": 0.001}) == (True, [])


def test_an_older_report_without_hosts_is_judged_by_its_path_alone() -> None:
    old = {key: value for key, value in error().items() if key != "hosts"}
    assert assess(old, LIMITS) == (True, [])


def test_waits_that_the_kernel_does_not_count_are_said_and_not_taken_for_none() -> None:
    uncounted = dict.fromkeys(("ran_s", "waited_s", "wait_share", "wait_max_ms", "wait_max_at_s"))
    found = error()
    found["hosts"] = {
        name: {
            "wait_share": None,
            "wait_max_ms": None,
            "stopped_s": 0.0,
            "programs": [program("iperf3") | uncounted],
        }
        for name in ("client", "server")
    }
    assert assess(found, LIMITS) == (True, [])
    words = engine_words.sentences({"engine": "live", "engine_error": found})
    assert any("does not count" in sentence for sentence in words)
    assert summary({"engine_error": found})["engine_error"]["hosts"]["server"]["wait_share"] is None


def test_json_has_each_hosts_figures_and_not_its_list_of_programs() -> None:
    found = summary({"engine_error": error(program("iperf3", wait_share=0.2))})["engine_error"]
    assert found["hosts"]["server"] == {"wait_share": 0.2, "wait_max_ms": 3.0, "stopped_s": 0.0}
    assert found["sampler_late_ms_max"] == 30.0


def test_the_page_names_who_was_stopped_and_who_waited_most() -> None:
    stopped = program("iperf3", stopped_s=2.0, stopped_at_s=12.1, wait_share=0.2, wait_max_ms=40.0)
    words = engine_words.sentences({"engine": "live", "engine_error": error(stopped)})
    text = " ".join(words).replace("\N{NO-BREAK SPACE}", " ")
    assert "iperf3 on the server was stopped for about 2 s, from about 12.1 s." in text
    assert "iperf3 on the server: 20 % of its time, at most 40 ms within 0.1 s." in text
