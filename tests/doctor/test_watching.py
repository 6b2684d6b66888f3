"""This host's own connections, watched: on the loopback, without rights."""

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from bentpipe.doctor.diagnosis import diagnose
from bentpipe.doctor.from_host import HostSeen, _lasted
from bentpipe.doctor.host_facts import HostFacts, facts
from bentpipe.doctor.watching import Watched, Watching, watched
from bentpipe.errors import StoreError
from busy_programs import CASES, Case, two_programs
from waiting import wait_for

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sock_diag is Linux's")

SOME = 3_000_000


@contextlib.contextmanager
def connection() -> Iterator[tuple[socket.socket, socket.socket, int]]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client, listener.accept()[0] as server:
            yield client, server, port


def carry(sender: socket.socket, receiver: socket.socket, count: int) -> None:
    sending = threading.Thread(target=sender.sendall, args=(bytes(count),))
    sending.start()
    while count:
        count -= len(receiver.recv(min(count, 65536)))
    sending.join()


def watched_transfer(before: int = 0) -> tuple[HostSeen, int]:
    """Of the server to the client. `before`: carried before the watch."""
    with connection() as (client, server, port):
        carry(server, client, before)
        with Watching(Watched("the port", ports=[port]), 0.01) as watching:
            assert wait_for(lambda: watching.report()["watched"] == 2)
            carry(server, client, SOME)
            assert wait_for(lambda: watching.report()["carried_bytes"] >= 2 * SOME)
            return watching.seen(), port


def test_looks_that_cost_too_much_are_taken_less_often_and_that_is_said() -> None:
    with connection() as (_client, _server, port):
        for share, is_spared in ((1e-9, True), (None, False)):
            with Watching(Watched("", ports=[port]), 0.01, share) as watching:
                assert wait_for(lambda watching=watching: watching.report()["looks"] >= 1)
            said = " ".join(watching.seen().remarks)
            assert (watching.report()["spared"] > 0) == is_spared
            assert ("--every sets the time between two" in said) == is_spared


def test_small_segments_count_as_what_they_hold() -> None:
    """The kernel counts a sender's segments, and the rate is one of bytes."""
    piece, count = 200, 300
    with connection() as (client, server, port), Watching(Watched("", ports=[port]), 0.01) as watching:
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        assert wait_for(lambda: watching.report()["watched"] == 2)
        for _ in range(count):
            carry(server, client, piece)
            time.sleep(0.002)
        assert wait_for(lambda: watching.report()["carried_bytes"] >= 2 * piece * count)
        seen = watching.seen()
    (of,) = (each for each in seen.transfers if each.seen_from == "sender")
    arrived = of.samples["arrived_bytes"].drop_nulls()
    assert arrived.is_sorted()
    assert arrived[-1] - arrived[0] < 3 * piece * count


def test_a_transfer_is_seen_from_both_of_its_ends() -> None:
    seen, port = watched_transfer()
    assert {each.name for each in seen.transfers} == {
        f"from 127.0.0.1:{port}",
        f"port {port} to 127.0.0.1",
    }
    for each in seen.transfers:
        assert each.direction == "down"
        assert abs(each.bytes - SOME) <= 1
        assert each.samples["delivered_bytes"].max() == each.bytes
    ends = {each.seen_from: each for each in seen.transfers}
    assert ends["sender"].has("cwnd_bytes", "sndbuf_bytes", "rwnd_bytes")
    assert ends["receiver"].has("rcvbuf_bytes", "rwnd_bytes")
    assert ends["sender"].sender_offered.sack is True
    assert ends["sender"].sndbuf_most_bytes
    assert seen.facts.counters.get("InSegs", 0) > 0
    assert [route["device"] for route in seen.facts.routes] in ([], ["lo"])


def test_a_report_has_no_setting_that_is_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "net/ipv4").mkdir(parents=True)
    for name in ("tcp_fastopen_key", "tcp_sack"):
        (tmp_path / "net/ipv4" / name).write_text("1\n")
    monkeypatch.setattr("bentpipe.doctor.host_facts._SETTINGS", tmp_path)
    assert facts({}, []).sysctl == {"net.ipv4.tcp_sack": "1"}


def test_what_was_carried_before_the_watch_does_not_count() -> None:
    seen, _ = watched_transfer(before=1_000_000)
    for each in seen.transfers:
        assert abs(each.bytes - SOME) <= 1
        assert each.samples["delivered_bytes"].min() == 0


def test_connections_at_the_same_time_are_one_transfer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, contextlib.ExitStack() as stack:
        port = listener.getsockname()[1]
        pairs = [
            (
                stack.enter_context(socket.create_connection(("127.0.0.1", port))),
                stack.enter_context(listener.accept()[0]),
            )
            for _ in range(3)
        ]
        with Watching(Watched("the port", ports=[port]), 0.01) as watching:
            assert wait_for(lambda: watching.report()["watched"] == 6)
            for client, server in pairs:
                carry(client, server, 200_000)
            assert wait_for(lambda: watching.report()["carried_bytes"] >= 6 * 200_000)
            seen = watching.seen()
    assert {each.name for each in seen.transfers} == {
        f"to 127.0.0.1:{port}, 3 connections",
        f"port {port} from 127.0.0.1, 3 connections",
    }
    assert all(abs(each.bytes - 600_000) <= 3 for each in seen.transfers)


def test_only_the_sockets_of_a_process_and_its_children_are_watched() -> None:
    with (
        connection() as (client, server, _),
        subprocess.Popen(["sleep", "100"]) as other,
        Watching(Watched("sleep", processes=[other.pid]), 0.01) as watching,
    ):
        carry(client, server, 100_000)
        looks = watching.report()["looks"]
        assert wait_for(lambda: watching.report()["looks"] > looks + 5)
        other.kill()
        assert watching.seen().transfers == []


@contextlib.contextmanager
def burning() -> Iterator[None]:
    """A program that has nothing to do with any transfer needs a processor."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as other:
        try:
            yield
        finally:
            other.kill()


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("by", ["port", "process"])
def test_the_program_of_a_transfer_that_needs_the_whole_processor_is_found(
    tmp_path: Path, by: str, case: Case
) -> None:
    # It would be one too many beside two programs that need a processor.
    beside = contextlib.nullcontext() if "burns" in case else burning()
    with (
        beside,
        subprocess.Popen(two_programs(tmp_path, case), stdout=subprocess.PIPE, text=True) as programs,
    ):
        assert programs.stdout is not None
        port = int(programs.stdout.readline())
        of = {"port": Watched("port", ports=[port]), "process": Watched("it", processes=[programs.pid])}
        with Watching(of[by], 0.05) as watching:
            programs.wait()
            seen = watching.seen()
    (transfer,) = (each for each in seen.transfers if each.seen_from == case.seen_from)
    assert diagnose(transfer).findings[0].kind == case.kind
    assert transfer.processor_share.keys() == {Path(sys.executable).name}


def test_of_a_program_whose_sockets_this_user_may_not_see_no_share_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bentpipe.doctor.processes._socket_inodes", lambda _process: set())
    with subprocess.Popen(two_programs(tmp_path, CASES[0]), stdout=subprocess.PIPE, text=True) as programs:
        assert programs.stdout is not None
        with Watching(Watched("port", ports=[int(programs.stdout.readline())]), 0.05) as watching:
            programs.wait()
            seen = watching.seen()
    (transfer,) = (each for each in seen.transfers if each.seen_from == "sender")
    assert transfer.processor_share == {}
    assert diagnose(transfer).findings[0].kind == "sender-application"


@pytest.mark.parametrize(
    ("what", "words"),
    [
        (None, "all connections with other hosts"),
        ("all", "all connections with other hosts"),
        (":443", "port 443"),
        ("port:443", "port 443"),
        ("127.0.0.1", "connections with 127.0.0.1"),
        ("[::1]", "connections with ::1"),
    ],
)
def test_what_is_watched_is_said(what: str | None, words: str) -> None:
    assert watched(what).words == words


def test_a_number_is_the_process_that_runs_or_else_a_port() -> None:
    ours = os.getpid()
    assert watched(f"pid:{ours}").processes == [ours]
    with connection() as (_, _, port):
        if not Path(f"/proc/{port}").is_dir():
            assert watched(str(port)).ports == [port]


@pytest.mark.parametrize("what", ["pid:99999999", "port:70000", "no-such-host.invalid", ""])
def test_what_cannot_be_watched_is_refused(what: str) -> None:
    with pytest.raises(StoreError, match="--watch: found"):
        watched(what)


@pytest.mark.parametrize("what", ["", "127.0.0.1:80", "port:443,80", "pid:abc", "[::1]:443"])
def test_what_is_written_in_another_form_is_answered_with_the_forms(what: str) -> None:
    with pytest.raises(StoreError, match="expected a host, port:443, pid:1234 or all"):
        watched(what)


@pytest.mark.parametrize(
    ("first_s", "every_s", "begins_s"),
    [(0.9, 1.0, 0.0), (0.1, 0.1, 0.0), (1.5, 1.0, 0.0), (2.5, 1.0, 2.4), (1.9, 5.0, 0.0)],
)
def test_a_connection_that_was_open_counts_from_the_watchs_beginning_unless_it_was_idle(
    first_s: float, every_s: float, begins_s: float
) -> None:
    """Each burst has 500 kB. The watch lasts 5 s."""
    time_s = np.arange(0, 5.05, 0.1)
    bursts = np.floor(np.maximum(time_s - first_s + every_s, 0) / every_s + 1e-9)
    frame = pl.DataFrame({"time_s": time_s, "bytes_acked": 5e5 * bursts})
    begun_s, end_s = _lasted(frame, "bytes_acked", {"was_before": True}, 0.1)
    assert begun_s == pytest.approx(begins_s)
    assert end_s == pytest.approx(first_s + every_s * np.floor((5 - first_s) / every_s + 1e-9))


@pytest.mark.parametrize(
    ("remote", "route", "itself"),
    [
        ("127.0.0.1", {}, True),
        ("192.0.2.1", {"device": "lo", "qdisc": "noqueue"}, True),
        ("127.0.0.1", {"device": "lo", "qdisc": "tbf"}, False),
        ("192.0.2.1", {"device": "eth0", "qdisc": "noqueue"}, False),
        ("192.0.2.1", {}, False),
    ],
)
def test_an_address_of_this_host_without_a_queue_is_no_path(
    remote: str, route: dict[str, str], itself: bool
) -> None:
    routes = ({"to": remote, **route},) if route else ()
    assert HostFacts(routes=routes).is_itself(remote) is itself
