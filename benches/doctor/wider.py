"""Labelled labs of more kinds of hosts and paths: the limits of planted.py by other means.

`WIDER` has other ways to the same limits: jitter of any distribution, buckets and queues of any size, several
outages, programs that think, ways back that another's upload fills. `wide` changes the hosts and the path
around a limit: congestion control, connections and direction as `fresh`, and IPv6, time stamps, Linux's own
buffers and jitter.
"""

import math
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from planted import KINDS, MSS, Path, Plan, Planted, Range
from variants import changed, fresh

WIDE = Range(least_s=5.0, round_trips=20.0)
"""Of transfers from 5 s on, over any path."""
_MOST_BYTES = 300e6
_DISTRIBUTIONS = ("normal", "uniform", "pareto")
_OWN_BUFFERS_BYTES = 2.2e6
"""BDP and queue up to which Linux's own largest buffers fill a path."""
_INITIAL_BYTES = 10 * MSS
_OFTEN_JITTER = 0.12
_OFTEN_IPV6 = 0.1
_OFTEN_WITHOUT_STAMPS = 0.06
_OFTEN_OWN_BUFFERS = 0.4


def wide(planted: Planted) -> Planted | None:
    """Other hosts around the same limit."""
    random_ = random.Random(f"wide {planted.kind} {planted.lab['seed']}")
    found = fresh(planted)
    if found.kind == "pacing":
        found = changed(found, _shared_by_streams)
    if random_.random() < _OFTEN_JITTER and "jitter" not in str(found.lab["path"]):
        found = changed(found, _with_jitter(random_))
    if random_.random() < _OFTEN_IPV6:
        found = changed(found, _host(ip=6))
    if random_.random() < _OFTEN_WITHOUT_STAMPS:
        found = changed(found, _host(timestamps=False))
    if random_.random() < _OFTEN_OWN_BUFFERS and found.kind not in ("send-buffer", "receiver-application"):
        found = changed(found, _own_buffers)
    return found


def _host(**options: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda lab: {**lab, "host": {**lab["host"], **options}}


def _with_jitter(random_: random.Random) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """In order, in both directions."""
    share = random_.uniform(0.005, 0.04)
    distribution, correlation = random_.choice(_DISTRIBUTIONS), random_.choice((0, 0, 0.25, 0.5))

    def with_jitter(lab: dict[str, Any]) -> dict[str, Any]:
        spread_s = max(share * _rtt_s(lab), 0.0002)
        jitter = {
            "spread": f"{spread_s * 1e3:.3f} ms",
            "distribution": distribution,
            "correlation": correlation,
        }
        return {**lab, "path": {**lab["path"], "jitter": jitter}}

    return with_jitter


def _own_buffers(lab: dict[str, Any]) -> dict[str, Any]:
    """Linux's own buffers, where these do not limit. What the client or the server sets stays."""
    bdp = _rtt_s(lab) * float(lab["path"]["rate"].split()[0]) * 1e6 / 8
    if 3 * bdp > _OWN_BUFFERS_BYTES:
        return lab
    host = {key: value for key, value in lab["host"].items() if key not in ("tcp_rmem", "tcp_wmem")}
    return {**lab, "host": host}


def _shared_by_streams(lab: dict[str, Any]) -> dict[str, Any]:
    """Several connections together keep the rate that was drawn."""
    work, *others = lab["workload"]
    count = work.get("streams", 1)

    def part(rate: str) -> str:
        return f"{float(rate.split(maxsplit=1)[0]) / count:.6f} Mbit/s"

    if "max_pacing_rate" in work:
        work = {**work, "max_pacing_rate": part(work["max_pacing_rate"])}
    host, control = lab["host"], lab["host"].get("congestion_control")
    if isinstance(control, dict) and "rate" in control:
        host = {**host, "congestion_control": {**control, "rate": part(control["rate"])}}
    return {**lab, "host": host, "workload": [work, *others]}


def _rtt_s(lab: dict[str, Any]) -> float:
    return float(lab["path"]["rtt"].split()[0]) / 1e3


def _log(random_: random.Random, low: float, high: float) -> float:
    return math.exp(random_.uniform(math.log(low), math.log(high)))


def _reordering(path: Path, random_: random.Random) -> Planted | None:
    spread_s = _log(random_, 0.03, 0.5) * path.rtt_s
    if spread_s * path.rate_bit_s / 8 < 20 * 1500:
        return None
    jitter = {
        "spread": f"{spread_s * 1e3:.3f} ms",
        "distribution": random_.choice(_DISTRIBUTIONS),
        "reorder": True,
    }
    where = {"jitter": jitter} if random_.random() < 0.5 else {"down": {"jitter": jitter}}
    return Planted("reordering", path.lab(**where), most_used=0.85, lifted=path.lab())


def _short_queue(path: Path, random_: random.Random) -> Planted | None:
    queue = _log(random_, 0.005, 0.2) * path.bdp
    if queue < 3 * 1500:
        return None
    limit = random_.choice((f"{int(queue)} B", f"{max(int(queue / 1500), 3)} packets"))
    where = {"queue": limit} if random_.random() < 0.7 else {"down": {"queue": limit}}
    return Planted("short-queue", path.lab(**where), most_used=0.88, lifted=path.lab())


def _policer(path: Path, random_: random.Random) -> Planted | None:
    """A bucket of a tenth of a round trip or more: a smaller one is a short queue for a burst."""
    share = random_.uniform(0.1, 0.7)
    round_trip = share * path.bdp
    low, high = max(15e3, 0.1 * round_trip), max(40e3, 2 * round_trip, 0.02 * share * path.rate_bit_s / 8)
    if low >= high:
        return None
    policer = {
        "rate": f"{path.rate_bit_s * share / 1e6:.3f} Mbit/s",
        "burst": f"{int(_log(random_, low, high))} B",
    }
    return Planted("policer", path.lab(down={"policer": policer}), most_used=0.9, lifted=path.lab())


def _random_loss(path: Path, random_: random.Random) -> Planted | None:
    found = KINDS["random-loss"](path, random_)
    if found is None or found.lifted is None:
        return found
    loss = found.lab["path"]["loss"]
    where = random_.choice(("loss", "down", "ingress"))
    if where == "loss":
        return found
    way = {"loss": loss} if where == "down" else {"ingress_loss": loss}
    return replace(found, lab=path.lab(down=way))


def _send_buffer(path: Path, random_: random.Random) -> Planted | None:
    buffer = int(random_.uniform(0.08, 0.65) * path.bdp / 0.67)
    if buffer < 12_000:
        return None
    lab = path.lab()
    lab["server"] = {"tcp_wmem": [4096, min(16384, buffer), buffer]}
    return Planted("send-buffer", lab, most_used=0.85, lifted=path.lab())


def _receiver_window(path: Path, random_: random.Random) -> Planted | None:
    window = random_.uniform(0.08, 0.65) * path.bdp
    most = int(window / 0.62)
    if most < 12_000:
        return None
    lab = path.lab()
    lab["client"] = {"tcp_rmem": [4096, min(131072, most), most]}
    return Planted("receiver-window", lab, most_used=0.85, lifted=path.lab())


def _sender_application(path: Path, random_: random.Random) -> Planted | None:
    """A program that thinks between its answers, or has only small ones."""
    lab = path.lab()
    work: dict[str, Any] = {"name": "download", "kind": "http", "direction": "down", "keep_alive": True}
    if random_.random() < 0.6:
        size = _log(random_, 2e4, max(min(3e6, 2 * path.bdp), 4e4))
        takes_s = size * 8 / path.rate_bit_s + path.rtt_s * max(math.log2(1 + size / _INITIAL_BYTES), 1.0)
        think_s = takes_s * random_.uniform(1.5, 4)
        work["think"] = f"{think_s * 1e3:.1f} ms"
        count = int(min(max(path.long_s / (think_s + takes_s), 4), 60))
    else:
        size, count = _log(random_, 2e3, 1.2e4), int(min(max(path.long_s / path.rtt_s, 20), 400))
    if path.bdp < 4 * size / 10:
        return None
    lab["workload"] = [{**work, "size": f"{int(size)} B", "fetches": count}]
    lab.update(until="done", duration="120 s")
    return Planted("sender-application", lab, most_used=0.5)


def _application(path: Path, random_: random.Random) -> Planted | None:
    ways = (KINDS["sender-application"], _sender_application)
    return random_.choice(ways)(path, random_)


def _ack_path(path: Path, random_: random.Random) -> Planted | None:
    """A narrow way back with a queue of any length, or one that another's upload fills."""
    if random_.random() < 0.5:
        rate = path.rate_bit_s / _log(random_, 60, 400)
        if rate < 8e3:
            return None
        queue = random_.choice(("60 ms", "200 ms", "50 packets", "100 packets", "64000 B"))
        return Planted(
            "ack-path",
            path.lab(up={"rate": f"{rate / 1e6:.6f} Mbit/s", "queue": queue}),
            most_used=0.85,
            lifted=path.lab(),
        )
    rate = path.rate_bit_s / _log(random_, 8, 40)
    if rate < 1e5:
        return None
    way = {"rate": f"{rate / 1e6:.6f} Mbit/s", "queue": f"{int(rate / 8 * random_.uniform(0.15, 1.2))} B"}
    lab = path.lab(up=way)
    lab["workload"].append({"name": "upload", "kind": "bulk", "direction": "up"})
    return Planted("ack-path", lab, most_used=0.85, lifted=path.lab(up=way))


def _outage(path: Path, random_: random.Random) -> Planted | None:
    """One to three, in both directions or in one, or at handovers."""
    if path.bdp < 20_000:
        return None
    lab = path.lab(queue="1 bdp")
    share, count = random_.uniform(0.2, 0.5), random_.choice((1, 1, 2, 3))
    if random_.random() < 0.2:
        every_s = max(2.0, path.long_s / random_.choice((3, 4, 6)))
        lab["path"]["handover"] = {"every": f"{every_s:.2f} s", "outage": f"{every_s * share:.2f} s"}
    else:
        length_s, apart_s = share * path.long_s / count, 0.9 * path.long_s / count
        times = [
            0.08 * path.long_s + each * apart_s + random_.uniform(0, 0.8) * max(apart_s - length_s, 0)
            for each in range(count)
        ]
        outages = [[f"{begin:.2f} s", f"{length_s:.2f} s"] for begin in times]
        where = lab["path"] if random_.random() < 0.5 else lab["path"].setdefault("down", {})
        where["outages"] = outages
    return Planted("outage", lab, most_used=0.85, lifted=path.lab(queue="1 bdp"))


def _capacity(path: Path, random_: random.Random) -> Planted | None:
    queue = random_.uniform(0.4, 1.5) * path.bdp
    if queue < 15_000:
        return None
    return Planted("capacity", path.lab(queue=f"{int(queue)} B"), least_used=0.85)


def _bufferbloat(path: Path, random_: random.Random) -> Planted | None:
    found = KINDS["bufferbloat"](path, random_)
    return None if found is None else replace(found, least_used=0.85)


def _bounded_cost(plan: Plan) -> Plan:
    """The same, but for paths that carry so much that a run takes long to simulate."""

    def of(path: Path, random_: random.Random) -> Planted | None:
        costly = path.rate_bit_s / 8 * path.long_s > _MOST_BYTES
        return None if costly else plan(path, random_)

    return of


WIDER: dict[str, Plan] = {
    kind: _bounded_cost(plan)
    for kind, plan in {
        **KINDS,
        "reordering": _reordering,
        "short-queue": _short_queue,
        "policer": _policer,
        "random-loss": _random_loss,
        "send-buffer": _send_buffer,
        "receiver-window": _receiver_window,
        "sender-application": _application,
        "ack-path": _ack_path,
        "outage": _outage,
        "capacity": _capacity,
        "bufferbloat": _bufferbloat,
    }.items()
}
