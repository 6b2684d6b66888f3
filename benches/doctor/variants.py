"""The labelled labs with something else about them.

`make check-doctor ARGS="--as bbr"` asks whether findings hold there. No rule and no weight comes from the
runs of `--as`. The trees come from other labs, some of which have the same variants (train.py). A kind is
left out where the variant takes its limit away: BBR is not limited by random loss.
"""

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from planted import Planted

SET_BY_CONTROL = ("pacing",)
"""Kinds whose limit is a congestion control of its own."""
BY_LOSS = ("random-loss", "short-queue", "reordering", "timeouts", "slow-start", "line-drops")
"""Kinds whose limit is how CUBIC and Reno answer to losses, or begin."""
_STREAMS = (2, 4, 8)
_SHORT_S = 8.0
_HELD_MS = (0.3, 5.0)
_BUSY_EVERY_S = (0.015, 0.3)
_BUSY_FOR_S = (0.001, 0.008)
_LEAST_HELD_S = 1e-5
_OPEN, _HELD = "1 Gbit/s", "1 bit/s"
_LATE = (0.005, 0.1)
_LOSSES = (1.0, 20.0)
_PACKET_BITS = 12_000
_OFTEN_SEVERAL = 0.25
_OFTEN_UP = 0.5
_OTHER = {"client": "server", "server": "client", "down": "up", "up": "down"}


def changed(planted: Planted, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Planted:
    """The lab and those without a limit of it, all changed alike."""
    lifted = None if planted.lifted is None else change(planted.lifted)
    without_one = tuple(map(change, planted.without_one))
    return replace(planted, lab=change(planted.lab), lifted=lifted, without_one=without_one)


def _control(name: str, *lacks: str) -> Callable[[Planted], Planted | None]:
    def of(planted: Planted) -> Planted | None:
        if planted.kind in (*SET_BY_CONTROL, *lacks):
            return None
        return changed(planted, lambda lab: {**lab, "host": {**lab["host"], "congestion_control": name}})

    return of


def _bbr(planted: Planted) -> Planted | None:
    found = _control("bbr", *BY_LOSS)(planted)
    # BBR keeps a queue of a round trip at most: a long queue does no harm.
    return None if found is None else replace(found, also=None)


def _streams(planted: Planted) -> Planted | None:
    """Several connections at once. Where TCP is split, and of a file, there is one."""
    work, *others = planted.lab["workload"]
    if work["kind"] != "bulk" or "split" in planted.lab:
        return None
    count = _STREAMS[planted.lab["seed"] // 8 % len(_STREAMS)]
    return changed(planted, lambda lab: {**lab, "workload": [{**work, "streams": count}, *others]})


def _short(planted: Planted) -> Planted | None:
    """A transfer of 8 s, by paths of less than 130 ms. An outage has its time within a longer one."""
    if _ms(planted.lab) > _SHORT_S / 60 * 1e3 or planted.kind == "outage":
        return None
    return changed(planted, lambda lab: {**lab, "duration": f"{_SHORT_S} s"})


def _jitter(planted: Planted) -> Planted | None:
    """Packets are a tenth of the round trip late now and then, in order, as on radio links."""
    return _with_jitter(planted, f"{_ms(planted.lab) / 20:.3f} ms")


def _late(planted: Planted) -> Planted | None:
    """The same by a share of the round trip that is drawn."""
    random_ = random.Random(f"late {planted.kind} {planted.lab['seed']}")
    return _with_jitter(planted, f"{_ms(planted.lab) * random_.uniform(*_LATE):.3f} ms")


def _with_jitter(planted: Planted, by: str) -> Planted | None:
    if "jitter" in planted.lab["path"].get("down", {}):
        return None
    spread = {"spread": by, "distribution": "normal"}

    def with_jitter(lab: dict[str, Any]) -> dict[str, Any]:
        path = lab["path"]
        return {**lab, "path": {**path, "down": {**path.get("down", {}), "jitter": spread}}}

    return changed(planted, with_jitter)


def _bunched(planted: Planted) -> Planted:
    """ACKs come in bunches, as where a busy host, a radio or an offload holds them for some milliseconds. The
    sender answers each bunch with a burst."""
    random_ = random.Random(f"bunched {planted.kind} {planted.lab['seed']}")
    jitter = {"spread": f"{random_.uniform(*_HELD_MS):.3f} ms", "distribution": "normal"}
    of_acks = "down" if planted.lab["workload"][0].get("direction", "down") == "up" else "up"

    def with_bunches(lab: dict[str, Any]) -> dict[str, Any]:
        path = lab["path"]
        return {**lab, "path": {**path, of_acks: {**path.get(of_acks, {}), "jitter": jitter}}}

    return changed(planted, with_bunches)


def _busy(planted: Planted) -> Planted | None:
    """ACKs are held now and then for some milliseconds and go on at once, as by a receiver whose processors
    are busy. The sender answers with bursts."""
    random_ = random.Random(f"busy {planted.kind} {planted.lab['seed']}")
    of_acks = "down" if planted.lab["workload"][0].get("direction", "down") == "up" else "up"
    if "rate" in planted.lab["path"].get(of_acks, {}):
        return None
    every_s, lasts_s = (
        math.exp(random_.uniform(*map(math.log, each))) for each in (_BUSY_EVERY_S, _BUSY_FOR_S)
    )
    steps, at_s = [["0 s", _OPEN]], max(random_.expovariate(1 / every_s), _LEAST_HELD_S)
    until_s = float(planted.lab["duration"].split()[0])
    while at_s < until_s:
        on_s = at_s + max(random_.expovariate(1 / lasts_s), _LEAST_HELD_S)
        steps += [[f"{at_s:.6f} s", _HELD], [f"{on_s:.6f} s", _OPEN]]
        at_s = on_s + max(random_.expovariate(1 / every_s), _LEAST_HELD_S)

    def with_holds(lab: dict[str, Any]) -> dict[str, Any]:
        path = lab["path"]
        held = {"rate": {"steps": steps}, "queue": "unlimited"}
        return {**lab, "path": {**path, of_acks: {**path.get(of_acks, {}), **held}}}

    return changed(planted, with_holds)


def _rare(planted: Planted) -> Planted | None:
    """A few packets of the payload are lost at random, one to twenty if it fills half of the path."""
    random_ = random.Random(f"rare {planted.kind} {planted.lab['seed']}")
    of_payload = planted.lab["workload"][0].get("direction", "down")
    path = planted.lab["path"]
    if "loss" in path or "loss" in path.get(of_payload, {}):
        return None
    half_s = float(planted.lab["duration"].split()[0]) / 2
    packets = float(path["rate"].split()[0]) * 1e6 * half_s / _PACKET_BITS
    loss = math.exp(random_.uniform(*map(math.log, _LOSSES))) / packets

    def with_losses(lab: dict[str, Any]) -> dict[str, Any]:
        path = lab["path"]
        return {**lab, "path": {**path, of_payload: {**path.get(of_payload, {}), "loss": round(loss, 9)}}}

    return changed(planted, with_losses)


def fresh(planted: Planted) -> Planted:
    """All at once: the congestion control, how many connections and which way are drawn, too.

    CUBIC counts twice, as it is the usual one. BBR is drawn only where it does not take the limit away.
    """
    random_ = random.Random(f"fresh {planted.kind} {planted.lab['seed']}")
    control = random_.choice(("cubic", "cubic", "reno", "bbr"))
    several, mirrored = random_.random() < _OFTEN_SEVERAL, random_.random() < _OFTEN_UP
    found = planted
    if control != "cubic":
        found = (_bbr(found) if control == "bbr" else _control(control)(found)) or found
    if several:
        found = _streams(found) or found
    return changed(found, _mirrored) if mirrored else found


def _mirrored(lab: dict[str, Any]) -> dict[str, Any]:
    """The same the other way: an upload over a path whose two ways changed places. A lab with a split stays,
    as its ends differ."""
    if "split" in lab:
        return lab
    found = {_OTHER.get(key, key): value for key, value in lab.items()}
    found["path"] = {_OTHER.get(key, key): value for key, value in lab["path"].items()}
    found["workload"] = [
        {**work, "direction": _OTHER[work.get("direction", "down")]} for work in lab["workload"]
    ]
    return found


def _ms(lab: Mapping[str, Any]) -> float:
    return float(lab["path"]["rtt"].split()[0])


VARIANTS: Mapping[str, Callable[[Planted], Planted | None]] = {
    "bbr": _bbr,
    "reno": _control("reno"),
    "streams": _streams,
    "short": _short,
    "jitter": _jitter,
    "late": _late,
    "bunched": _bunched,
    "busy": _busy,
    "rare": _rare,
    "fresh": fresh,
}
