"""What it costs to watch 1000 sockets: processor time of the watch, and goodput with it and without.

    python benches/watch [--pairs 10] [--seconds 3] [--every 0.1] [--mbit-s 100] [--share 0.05]

500 connections on the loopback, whose 1000 ends are all watched, carry all that two processes can, or as much
as `--mbit-s` says. `--share`: of a core, beyond which looks are taken less often, as `doctor --watch` does if
no interval is given. Turns with the watch and without it follow each other; which comes first changes from
pair to pair.
"""

import argparse
import multiprocessing
import selectors
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from statistics import fmean

from bentpipe.analysis.intervals import interval
from bentpipe.doctor.watching import Watched, Watching

CONNECTIONS = 500
PIECE = bytes(64 * 1024)


def receive(listener: socket.socket, counts: Connection) -> None:
    """Accepts all connections and reads what comes. Tells how much that was whenever it is asked."""
    with selectors.DefaultSelector() as ready:
        for _ in range(CONNECTIONS):
            ready.register(listener.accept()[0], selectors.EVENT_READ)
        ready.register(counts, selectors.EVENT_READ)
        carried, room = 0, bytearray(len(PIECE))
        while True:
            for key, _ in ready.select():
                if key.fileobj is counts:
                    if not counts.recv():
                        return
                    counts.send(carried)
                else:
                    carried += key.fileobj.recv_into(room)


def send(port: int, mbit_s: float | None) -> None:
    """Sends over all connections. `mbit_s`: over all of them together, in pieces of 4 KiB in turn."""
    if mbit_s is not None:
        connections = [socket.create_connection(("127.0.0.1", port)) for _ in range(CONNECTIONS)]
        piece = bytes(4096)
        gap_s, due_s = len(piece) * 8 / (mbit_s * 1e6), time.monotonic()
        while True:
            for connection in connections:
                connection.sendall(piece)
                due_s += gap_s
                time.sleep(max(due_s - time.monotonic(), 0))
    with selectors.DefaultSelector() as ready:
        for _ in range(CONNECTIONS):
            connection = socket.create_connection(("127.0.0.1", port))
            connection.setblocking(False)
            ready.register(connection, selectors.EVENT_WRITE)
        while True:
            for key, _ in ready.select():
                with suppress(BlockingIOError):
                    key.fileobj.send(PIECE)


def turn(carried: Callable[[], int], seconds: float, watch: Watching | None) -> tuple[float, dict]:
    """Goodput in Gbit/s, and what the watch says of itself."""
    begun, before = time.monotonic(), carried()
    time.sleep(seconds)
    goodput = (carried() - before) * 8 / (time.monotonic() - begun) / 1e9
    if watch is None:
        return goodput, {}
    watch.stop()
    return goodput, {**watch.report(), "programs_s": watch.programs_processor_s}


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("--pairs", type=int, default=10)
    asked.add_argument("--seconds", type=float, default=3.0)
    asked.add_argument("--every", type=float, default=0.1)
    asked.add_argument("--mbit-s", type=float)
    asked.add_argument("--share", type=float)
    options = asked.parse_args()
    listener = socket.create_server(("127.0.0.1", 0), backlog=CONNECTIONS)
    port = listener.getsockname()[1]
    ours, theirs = multiprocessing.Pipe()
    receiver = multiprocessing.Process(target=receive, args=(listener, theirs), daemon=True)
    sender = multiprocessing.Process(target=send, args=(port, options.mbit_s), daemon=True)
    receiver.start()
    sender.start()

    def carried() -> int:
        ours.send(True)
        return int(ours.recv())

    def watching() -> Watching:
        begun = Watching(Watched("the port", ports=[port]), options.every, options.share)
        begun.start()
        return begun

    turn(carried, 1.0, None)
    ratios, shares, reports, plain = [], [], [], []
    for pair in range(options.pairs):
        goodput = {}
        for is_watched in (True, False) if pair % 2 else (False, True):
            found, report = turn(carried, options.seconds, watching() if is_watched else None)
            goodput[is_watched] = found
            if report:
                reports.append(report)
                shares.append((report["processor_s"] + report["programs_s"]) / report["lasted_s"])
        ratios.append(goodput[True] / goodput[False])
        plain.append(goodput[False])
    for process in (sender, receiver):
        process.terminate()
    watched, missed = min(each["watched"] for each in reports), sum(each["missed"] for each in reports)
    print(
        f"{watched} sockets watched every {options.every * 1e3:g} ms"
        + (f", or less often beyond {options.share:.0%} of a core" if options.share else "")
        + f"; {options.pairs} pairs of {options.seconds:g} s"
    )
    print(f"processor time of the watch: {fmean(shares):.2%} of a core (largest {max(shares):.2%})")
    programs_s, lasted_s = (sum(each[name] for each in reports) for name in ("programs_s", "lasted_s"))
    print(f"of it, for the programs that own the sockets: {programs_s / lasted_s:.2%} of a core")
    looks = sum(each["looks"] for each in reports)
    each_ms = sum(each["processor_s"] for each in reports) / looks * 1e3
    print(
        f"looks: {looks}, every {lasted_s / looks * 1e3:.0f} ms, {each_ms:.2f} ms each; "
        f"left out because one before was late: {missed}"
    )
    spread = interval(ratios)
    between = f", 95 % interval {spread.low:.3f} to {spread.high:.3f}" if spread else ""
    print(f"goodput without: {fmean(plain):.3g} Gbit/s; with the watch, times {fmean(ratios):.3f}{between}")


if __name__ == "__main__":
    main()
