"""What `live` says of a call from what its two programs printed."""

import json
import signal
import socket
import subprocess
import sys
import time
from types import SimpleNamespace
from typing import Any, cast

from bentpipe.engines.bench import Bench, End, Program
from bentpipe.engines.host_process import Exit
from bentpipe.engines.workloads import call, calling
from bentpipe.lab.spec import CallSpec

SPEC = cast(
    CallSpec,
    SimpleNamespace(start_ns=0, playout_ns=60_000_000, interval_ns=20_000_000, concealment=True),
)
BENCH = cast(Bench, SimpleNamespace(run_s=lambda ns: ns / 1e9, full_round_trip_s=0.1))
END_S = 1.0


def printed(listens_ns: int | None, sent_ns: list[int], came: list[tuple[int, int]]) -> Program:
    said = {"error": None, "listens_ns": listens_ns, "sent_ns": sent_ns, "came": came}
    return Program(["python"], End.EXITED, Exit(0, None, None, END_S), 0.0, json.dumps(said), "")


def test_a_caller_that_listened_in_time_leaves_no_doubt() -> None:
    sent = [place * 20_000_000 for place in range(10)]
    came = [(place, at_ns + 30_000_000) for place, at_ns in enumerate(sent)]
    caller = printed(-500_000_000, sent, came)
    found = call.result(SPEC, caller, caller, BENCH, END_S)
    assert found.doubts == []
    assert (found.entry["down"]["sent"], found.entry["down"]["lost"]) == (10, 0)


def test_a_caller_that_this_machine_started_too_late_makes_the_figures_doubtful() -> None:
    sent = [place * 20_000_000 for place in range(10)]
    found = call.result(SPEC, printed(2_500_000_000, [], []), printed(-500_000_000, sent, []), BENCH, END_S)
    (doubt,) = found.doubts
    assert doubt.startswith("the caller at the client began to listen 2.5 s after the call began")
    assert found.entry["down"]["loss"] == 1
    assert found.why is None


def test_the_program_says_when_it_began_to_listen() -> None:
    before_ns = time.monotonic_ns()
    numbers = [0, 40, before_ns - 10**9, 10**9, 0, before_ns]
    command = [sys.executable, "-I", "-S", calling.__file__, "127.0.0.1", "127.0.0.1", *map(str, numbers)]
    said: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert said["error"] is None
    assert said["listens_ns"] > before_ns


def test_a_caller_that_is_interrupted_while_it_prints_prints_all() -> None:
    """The run's end interrupts the programs that are there, and a call to the run's end ends just then."""
    now_ns = time.monotonic_ns()
    count = 200_000
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # It must have begun by the run's end, on a busy machine too.
    numbers = [port, 40, now_ns - 10**9, 1, count, now_ns + 1_500_000_000]
    command = [sys.executable, "-I", "-S", calling.__file__, "127.0.0.1", "127.0.0.1", *map(str, numbers)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as caller:
        assert caller.stdout is not None
        begun = caller.stdout.read(1)
        caller.send_signal(signal.SIGINT)
        said: dict[str, Any] = json.loads(begun + caller.stdout.read())
    assert caller.returncode == 0
    assert (said["error"], said["sent_ns"] == []) == (None, False)


def test_a_caller_without_a_peer_sends_to_who_calls_and_only_from_then_on() -> None:
    now_ns = time.monotonic_ns()
    start_ns, interval_ns = now_ns + 300_000_000, 20_000_000
    with socket.socket(type=socket.SOCK_DGRAM) as caller:
        caller.bind(("127.0.0.1", 0))
        caller.settimeout(5)
        port = _unused_port()
        numbers = [port, 40, start_ns, interval_ns, 50, start_ns + 1_200_000_000]
        command = [sys.executable, "-I", "-S", calling.__file__, "127.0.0.1", calling.WHO_CALLS]
        with subprocess.Popen([*command, *map(str, numbers)], stdout=subprocess.PIPE) as program:
            time.sleep(0.7)
            header = calling._HEADER.pack(0x80, 0, 0, 0, calling._SOURCE)
            called_ns = time.monotonic_ns()
            caller.sendto(header.ljust(40, b"\0"), ("127.0.0.1", port))
            first, sender = caller.recvfrom(100)
            assert program.stdout
            said = json.loads(program.stdout.read())
    assert sender == ("127.0.0.1", port)
    assert calling._HEADER.unpack_from(first)[3] == 0
    assert said["came"][0][0] == 0
    # Of the 50 those that were due before the call are not sent.
    missed = (called_ns - start_ns) / interval_ns
    assert min(said["sent_ns"]) >= called_ns
    assert 0 < len(said["sent_ns"]) <= 50 - int(missed)


def _unused_port() -> int:
    with socket.socket(type=socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port
