"""What aria2c's log says of its ranges, joined with nginx's."""

from bentpipe.engines.bench import End, Program
from bentpipe.engines.host_process import Exit
from bentpipe.engines.workloads import aria2c
from bentpipe.engines.workloads.nginx import Served
from bentpipe.engines.workloads.transfer import Item, Transfer

DAY = "2026-01-02 03:04"
ZERO_UNIX_S = 1767323040.0  # 03:04:00 of that day, UTC
MIB = 1 << 20
FILE = Item(0, 0, 1, 3 * MIB + 7)


def line(at_s: float, cuid: int, said: str) -> str:
    return f"{DAY}:{at_s:09.6f} [INFO] [Some.cc:1] CUID#{cuid} - {said}\n"


def begin(at_s: float, cuid: int) -> str:
    return line(at_s, cuid, "Connecting to 10.77.0.2:5201")


def ask(at_s: float, cuid: int, span: str = "") -> str:
    header = f"GET /web/1/9?0 HTTP/1.1\nHost: 10.77.0.2\n{f'Range: {span}' if span else 'Accept: */*'}\n\n"
    return line(at_s, cuid, "Requesting:") + header


def piece(at_s: float, cuid: int) -> str:
    return line(at_s, cuid, "The download for one segment completed successfully.")


def answer(at_s: float, cuid: int) -> str:
    return line(at_s, cuid, "Response received:") + "HTTP/1.1 206 Partial Content\n\n"


LOG = (
    begin(1.0, 6) + ask(1.1, 6) + answer(1.2, 6)
    + begin(1.21, 7) + ask(1.31, 7, f"bytes={2 * MIB}-{FILE.size_bytes - 1}")
    + answer(1.41, 7)
    + piece(2.0, 6)
    + begin(2.01, 6) + ask(2.11, 6, f"bytes={MIB}-{2 * MIB - 1}")
    + answer(2.21, 6)
    + piece(2.5, 7) + piece(2.6, 7) + piece(3.0, 6)
)  # fmt: skip


def served(port: int, span: str) -> Served:
    return Served(0, port, 0.0, 0.0, span, 206, 250, 9 * MIB, 100, None)


LINES = [
    served(43, f"bytes={MIB}-{2 * MIB - 1}"),
    served(41, ""),
    served(42, f"bytes={2 * MIB}-{FILE.size_bytes - 1}"),
]


def read(log: str, *, end: End = End.EXITED, status: int | None = 0, stderr: str = "") -> list[Transfer]:
    program = Program(["aria2c"], end, Exit(status, None, None, 9.0), 0.5, log, stderr)
    return aria2c.transfers(FILE, program, LINES, server="server", port=5201, wall_minus_run_s=ZERO_UNIX_S)


def test_each_request_is_a_range_with_its_times_and_its_connections_port() -> None:
    found = read(LOG)
    assert [each.local_port for each in found] == [41, 42, 43]
    assert [(round(each.start_s, 3), round(each.end_s or 0, 3)) for each in found] == [
        (1.0, 2.0),
        (1.21, 2.6),
        (2.01, 3.0),
    ]
    assert [round((each.first_byte_s or 0) - (each.connected_s or 0), 3) for each in found] == [0.1, 0.1, 0.1]
    assert {each.outcome for each in found} == {"finished"}


def test_the_bytes_of_all_ranges_are_the_file() -> None:
    found = read(LOG)
    assert [each.bytes for each in found] == [MIB, MIB + 7, MIB]
    assert sum(each.bytes for each in found) == FILE.size_bytes
    assert [each.size_bytes for each in found] == [None, MIB + 7, MIB]


def test_a_range_of_a_download_that_the_end_cut_has_no_end() -> None:
    found = read(LOG, end=End.CUT, status=7)
    assert {(each.outcome, each.end_s, each.why) for each in found} == {("unfinished", None, None)}


def test_an_exit_status_is_explained_and_what_the_log_names_as_an_error_is_told() -> None:
    log = LOG + f"{DAY}:03.500000 [ERROR] [Some.cc:2] CUID#7 - Download aborted.\n"
    found = read(log, status=6)
    assert found[0].outcome == "failed"
    assert "status 6 (a network problem)" in (found[0].why or "")
    assert "Download aborted" in (found[0].why or "")


def test_a_program_that_is_no_aria2c_fails_with_what_it_said() -> None:
    found = read("", status=5, stderr="no such thing")
    assert len(found) == 1
    assert "no such thing" in (found[0].why or "")
