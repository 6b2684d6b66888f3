"""What curl and nginx say of a fetch, and what is worked out where they do not say it."""

import json
from pathlib import Path

import pytest

from bentpipe.engines.bench import End, Program
from bentpipe.engines.host_process import Exit
from bentpipe.engines.workloads import curl, nginx, nginx_conf
from bentpipe.engines.workloads.transfer import Item, Transfer, visits

# The run's zero was at 1000.25 s of the monotonic clock, and at 01:00:00.9 of the day.
MONOTONIC_TO_RUN_S = -1000.25
WALL_TO_RUN_S = -3600.9


def told(number: int, **changed: object) -> str:
    said = {
        "url": f"http://10.77.0.2:5201/web/1/500?{number}",
        "exitcode": 0,
        "errormsg": None,
        "response_code": 200,
        "num_connects": 1,
        "local_port": 40000 + number,
        "size_download": 500,
        "size_header": 250,
        "size_upload": 0,
        "time_connect": 0.1,
        "time_pretransfer": 0.101,
        "time_starttransfer": 0.2,
        "time_total": 0.3,
    }
    return json.dumps(said | changed) + "\n"


def order(count: int, *, lanes: int | None = None, upload: bool = False) -> curl.Order:
    items = [Item(number, number, 1, 500) for number in range(count)]
    return curl.Order(items, str, (lambda _item: Path("500")) if upload else None, lanes, keep_alive=True)


def carried(
    asked: curl.Order, stdout: str, traced: curl.Trace, *, end: End = End.EXITED, status: int = 0
) -> list[Transfer]:
    program = Program(["curl"], end, Exit(status, None, None, 9.0), 1.0, stdout, "curl: no")
    return curl.transfers(asked, program, traced, server="server", port=5201)


def traced(stderr: str, started_s: float) -> curl.Trace:
    return curl.trace(
        stderr,
        started_s=started_s,
        monotonic_to_run_s=MONOTONIC_TO_RUN_S,
        wall_to_run_s=WALL_TO_RUN_S,
    )


def test_stamps_of_the_monotonic_clock_with_the_wall_clocks_seconds_are_put_on_the_runs_clock() -> None:
    # Started at 7.3 s of the run: 1007.55 of the monotonic clock, 01:00:08.2 of the day.
    found = traced(
        "01:00:08.560000 *   Trying 10.77.0.2:5201...\n01:00:08.660000 > GET /web/1/500?3 HTTP/1.1\n", 7.3
    )
    assert found.connecting_s == pytest.approx([7.31])
    assert found.request_s == pytest.approx({3: 7.41})


def test_stamps_of_the_wall_clock_are_put_on_the_runs_clock() -> None:
    found = traced(
        "01:00:08.210000 *   Trying 10.77.0.2:5201...\n01:00:08.310000 > PUT /web/1/500?3 HTTP/1.1\n", 7.3
    )
    assert found.connecting_s == pytest.approx([7.31])
    assert found.request_s == pytest.approx({3: 7.41})


def test_a_trace_that_goes_on_past_midnight_does_not_go_back() -> None:
    lines = "23:59:59.560000 *   Trying 10.77.0.2:5201...\n00:00:00.560000 > GET /web/1/500?3 HTTP/1.1\n"
    found = traced(lines, 7.3)
    assert found.request_s[3] - found.connecting_s[0] == pytest.approx(1)


def test_curl_that_said_nothing_has_no_trace() -> None:
    assert traced("curl: no such thing\n", 7.3) == curl.Trace([], {})


def test_a_fetch_begins_before_its_request_by_what_curl_took_until_then() -> None:
    found = carried(order(1), told(0), curl.Trace([1.01], {0: 1.111}))[0]
    assert found.start_s == pytest.approx(1.01)
    assert (found.connected_s, found.first_byte_s, found.end_s) == pytest.approx((1.11, 1.21, 1.31))
    assert (found.local_port, found.bytes, found.outcome, found.why) == (40000, 500, "finished", None)


def test_a_connection_that_was_there_has_no_time_of_its_own() -> None:
    assert carried(order(1), told(0, num_connects=0), curl.Trace([1.0], {0: 1.1}))[0].connected_s is None


def test_the_first_byte_of_an_upload_is_not_for_curl_to_know() -> None:
    found = carried(
        order(1, upload=True), told(0, response_code=204, size_upload=500), curl.Trace([], {0: 1.1})
    )[0]
    assert (found.first_byte_s, found.bytes, found.outcome) == (None, 500, "finished")


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"exitcode": 56, "errormsg": "Recv failure"}, "curl ended with status 56: Recv failure"),
        ({"response_code": 404}, "nginx answered 404"),
    ],
)
def test_a_fetch_that_failed_says_why_and_has_no_end(changed: dict[str, object], why: str) -> None:
    found = carried(order(1), told(0, **changed), curl.Trace([1.0], {0: 1.1}), status=56)[0]
    assert (found.outcome, found.why, found.end_s) == ("failed", why, None)


def test_of_fetches_that_the_end_cut_those_that_had_begun_are_unfinished() -> None:
    found = carried(order(3), told(0), curl.Trace([1.01], {0: 1.111}), end=End.CUT)
    assert [each.outcome for each in found] == ["finished", "unfinished"]
    assert found[1].start_s == found[0].end_s


def test_of_a_page_that_the_end_cut_those_whose_request_was_sent_are_unfinished() -> None:
    found = carried(order(4, lanes=2), told(0), curl.Trace([1.0, 1.0], {0: 1.1, 1: 1.1, 2: 1.4}), end=End.CUT)
    assert [(each.item.number, each.outcome) for each in found] == [
        (0, "finished"),
        (1, "unfinished"),
        (2, "unfinished"),
    ]
    assert found[2].start_s == pytest.approx(1.4)


def test_what_is_not_curl_is_a_failure_that_shows_what_was_said() -> None:
    found = carried(order(1), "hello", curl.Trace([], {}))[0]
    assert found.outcome == "failed"
    assert "hello" in (found.why or "")


def test_a_line_of_the_log_names_its_fetch_and_a_cut_line_is_left_out() -> None:
    line = {
        "ended_unix_s": 1700000001.5,
        "request_s": 0.5,
        "port": 40000,
        "request": "GET /web/3/500?17 HTTP/1.1",
        "range": "",
        "status": 200,
        "sent_bytes": 750,
        "body_bytes": 500,
        "request_bytes": 90,
        "cache": "",
    }
    found = nginx.served(json.dumps(line) + "\n" + json.dumps(line)[:40])
    assert len(found) == 1
    assert (found[0].number, found[0].port, found[0].header_bytes) == (17, 40000, 250)
    assert found[0].begun_unix_s == 1700000001.0


def test_only_a_server_that_thinks_loads_the_module_for_it() -> None:
    def text(think_s: float, *, upload: bool = False) -> str:
        return nginx_conf.server(
            addresses=["10.77.0.2", "fd77::2"],
            port=5201,
            upload=upload,
            think_s=think_s,
            echo_module=Path("/modules/echo.so"),
        )

    assert "listen 10.77.0.2:5201; listen [fd77::2]:5201;" in text(0)
    assert "load_module" not in text(0)
    assert "load_module /modules/echo.so;" in text(0.25)
    assert "echo_sleep 0.250;" in text(0.25)
    assert "load_module" not in text(0.25, upload=True)


def test_the_objects_of_a_page_and_the_draws_from_a_set_have_numbers_of_their_own() -> None:
    page = visits(fetches=2, objects_bytes=[10, 20], size_bytes=None, drawn=None)
    assert [(i.number, i.visit, i.object, i.size_bytes) for visit in page for i in visit] == [
        (0, 0, 1, 10),
        (1, 0, 2, 20),
        (2, 1, 1, 10),
        (3, 1, 2, 20),
    ]
    drawn = visits(fetches=2, objects_bytes=None, size_bytes=5, drawn=[7, 7])
    assert [(i.number, i.object) for visit in drawn for i in visit] == [(0, 7), (1, 7)]
