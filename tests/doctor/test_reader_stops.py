"""A reader that stops for good: the transfer's user waits on after its last byte."""

import contextlib
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from made_packets import MSS, RTT_S, WINDOW, Talk

from bentpipe.doctor.diagnosis import diagnose
from bentpipe.doctor.from_host import HostSeen
from bentpipe.doctor.watching import Watched, Watching
from waiting import wait_for

READ = 3_000_000
STOPS_S = 2.0
LATE_S = 1.0


@contextlib.contextmanager
def stopped_reader() -> Iterator[tuple[int, threading.Event]]:
    """A server that has more to send, whose client reads some and then stops. Its port, and what is set when
    it stops."""
    stopped = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client, listener.accept()[0] as server:

            def send() -> None:
                with contextlib.suppress(OSError):
                    server.sendall(bytes(20 * READ))

            def read() -> None:
                left = READ
                while left > 0:
                    left -= len(client.recv(min(left, 65536)))
                stopped.set()

            threads = [threading.Thread(target=each) for each in (send, read)]
            for each in threads:
                each.start()
            yield port, stopped
            for end in (client, server):
                end.shutdown(socket.SHUT_RDWR)
            for each in threads:
                each.join()


def watched(*, before: bool) -> HostSeen:
    """`before`: the watch begins before the reader stops, or else long after."""
    with stopped_reader() as (port, stopped):
        if not before:
            assert stopped.wait(10)
            time.sleep(LATE_S)
        with Watching(Watched("the port", ports=[port]), 0.02) as watching:
            assert stopped.wait(10)
            lasted_s = watching.report()["lasted_s"]
            assert wait_for(lambda: watching.report()["lasted_s"] > lasted_s + STOPS_S)
            return watching.seen()


@pytest.mark.skipif(sys.platform != "linux", reason="sock_diag is Linux's")
@pytest.mark.parametrize("before", [True, False])
def test_a_reader_that_stops_is_found_from_both_ends(before: bool) -> None:
    seen = watched(before=before)
    assert {each.seen_from for each in seen.transfers} == {"sender", "receiver"}
    for each in seen.transfers:
        assert each.duration_s > 0.8 * STOPS_S
        first = diagnose(each).findings[0]
        assert (first.kind, each.seen_from) == ("receiver-application", each.seen_from)
        assert first.share > 0.8


@pytest.mark.skipif(sys.platform != "linux", reason="sock_diag is Linux's")
def test_a_small_window_that_is_open_does_not_lengthen_a_transfer() -> None:
    """On the loopback an MSS is larger than the whole buffer."""
    left = 60_000
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        port = listener.getsockname()[1]
        client.connect(("127.0.0.1", port))
        server = listener.accept()[0]
        with server, Watching(Watched("the port", ports=[port]), 0.02) as watching:
            assert wait_for(lambda: watching.report()["watched"] == 2)
            sending = threading.Thread(target=server.sendall, args=(bytes(left),))
            sending.start()
            while left:
                left -= len(client.recv(left))
            sending.join()
            carried_s = watching.report()["lasted_s"]
            assert wait_for(lambda: watching.report()["lasted_s"] > carried_s + STOPS_S)
            transfers = watching.seen().transfers
    assert len(transfers) == 2
    assert all(each.end_s < carried_s + STOPS_S / 2 for each in transfers)


@pytest.mark.skipif(sys.platform != "linux", reason="sock_diag is Linux's")
def test_a_connection_whose_reader_stopped_leaves_later_ones_on_their_own() -> None:
    with stopped_reader() as (port, stopped), Watching(Watched("the port", ports=[port]), 0.02) as watching:
        assert stopped.wait(10)
        lasted_s = watching.report()["lasted_s"]
        assert wait_for(lambda: watching.report()["lasted_s"] > lasted_s + STOPS_S)
        with socket.create_connection(("127.0.0.1", port)) as later:
            later.sendall(bytes(100_000))
            assert wait_for(lambda: watching.report()["lasted_s"] > lasted_s + STOPS_S + 1)
            seen = watching.seen()
    senders = [each for each in seen.transfers if each.seen_from == "sender"]
    assert sorted(each.samples["connection"].n_unique() for each in senders) == [1, 1]


@pytest.mark.parametrize(("near_s", "end"), [(0.0, "sender"), (RTT_S / 2, "between"), (RTT_S, "receiver")])
def test_a_capture_of_a_reader_that_stops_lasts_to_its_end(near_s: float, end: str, tmp_path: Path) -> None:
    talk = Talk(near_s)
    talk.handshake()
    at_s, seq, window = 0.1, 1, WINDOW
    while window >= MSS:
        size = min(10, window // MSS) * MSS
        for number in range(size // MSS):
            talk.up(at_s + number / 1e4, seq + number * MSS, MSS, answers_s=at_s - RTT_S / 2)
        seq, window = seq + size, window - size
        talk.down(at_s + RTT_S + 1e-3, seq, echoes_s=at_s, window=window)
        at_s += RTT_S + 2e-3
    for probe_s in (0.7, 1.4, 2.8, 5.6):
        talk.up(probe_s, seq - 1, answers_s=at_s - RTT_S / 2)
        talk.down(probe_s + RTT_S, seq, echoes_s=probe_s, window=window)
    (transfer,) = talk.seen(tmp_path).transfers
    assert transfer.seen_from == end
    assert transfer.duration_s > 5
    first = diagnose(transfer).findings[0]
    assert first.kind == "receiver-application"
    assert first.share > 0.8


def test_a_window_that_is_shut_long_after_the_payload_does_not_lengthen_a_transfer(tmp_path: Path) -> None:
    talk = Talk()
    talk.handshake()
    for number in range(20):
        talk.up(0.1 + number / 1e4, 1 + number * MSS, MSS, answers_s=RTT_S / 2)
    talk.down(0.2, 1 + 20 * MSS, echoes_s=0.1)
    talk.down(30.0, 1 + 20 * MSS, echoes_s=0.1, window=0)
    (transfer,) = talk.seen(tmp_path).transfers
    assert transfer.duration_s < 1
