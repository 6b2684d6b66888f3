"""Labelled labs with what is around real transfers: `around` changes it and leaves the limit.

On top of `wide` (wider.py) it draws other congestion controls, hosts without D-SACK, a smaller MTU, a way
back that is slower, queues that drop early where the queue is no limit, and a call, keystrokes or echo
requests beside the transfer. Paths that are full may have a rate that changes in steps, or a bucket that
lets the first bytes pass faster. Some policers let 0.2 to 2 s of their rate pass at once. Some hosts
have no time stamps, and of these some no SACK. Packets that are late may follow others that are, or only a
few overtake them.
"""

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from planted import Planted
from variants import BY_LOSS, SET_BY_CONTROL, changed
from wider import wide

_OFTEN_CONTROL = 0.3
_OFTEN_WITHOUT_DSACK = 0.15
_OFTEN_SLOWER_BACK = 0.4
_OFTEN_BESIDE = 0.3
_OFTEN_EARLY_DROPS = 0.15
_OFTEN_VARIES = 0.5
_OFTEN_CORRELATED = 0.4
_OFTEN_LARGE_BUCKET = 0.4
_LARGE_BUCKET_S = (0.2, 2.0)
_OFTEN_SLIGHT = 0.4
_SLIGHT_PACKETS = (4.0, 30.0)
_OFTEN_WITHOUT_STAMPS = 0.12
_OFTEN_WITHOUT_SACK = 0.4
"""Of the hosts without time stamps."""
_MTU = (1500, 1500, 1500, 1492, 1420, 1400)
_BY_LOSS_CONTROLS = (
    "hybla",
    {"name": "cubic", "slow_start": "hystart++"},
    {"name": "cubic", "slow_start": "standard"},
)
_FULL = ("capacity", "bufferbloat")
_OWN_LIMIT = ("receiver-window", "send-buffer", "sender-application", "pacing", "receiver-application")
"""Kinds that need nothing of the queue."""
_BESIDE: tuple[dict[str, Any], ...] = (
    {"name": "rtt", "kind": "ping", "count": 10, "interval": "200 ms", "start": "-3 s"},
    {"name": "echoes", "kind": "ping", "count": 100, "interval": "200 ms", "start": "0 s"},
    {"name": "keys", "kind": "interactive", "interval": "300 ms", "gaps": "exponential"},
    {"name": "voice", "kind": "call"},
)
_BACK = {"down": "up", "up": "down"}


def around(planted: Planted) -> Planted | None:
    """Other surroundings of the same limit."""
    random_ = random.Random(f"around {planted.kind} {planted.lab['seed']}")
    found = wide(planted)
    if found is None:
        return None
    changes: list[Callable[[dict[str, Any]], dict[str, Any]]] = []
    if random_.random() < _OFTEN_CONTROL:
        changes += _control(found, random_)
    if random_.random() < _OFTEN_WITHOUT_DSACK:
        changes.append(lambda lab: {**lab, "host": {**lab["host"], "dsack": False}})
    mtu, ratio = random_.choice(_MTU), random_.uniform(1.5, 15)
    if mtu != _MTU[0] and "mtu" not in found.lab["path"]:
        changes.append(lambda lab: {**lab, "path": {**lab["path"], "mtu": mtu}})
    if random_.random() < _OFTEN_SLOWER_BACK and found.kind != "ack-path":
        changes.append(lambda lab: _slower_back(lab, ratio))
    if random_.random() < _OFTEN_BESIDE:
        beside = random_.choice(_BESIDE)
        changes.append(lambda lab: _beside(lab, beside))
    if (
        found.kind in _OWN_LIMIT
        and random_.random() < _OFTEN_EARLY_DROPS
        and "queue" not in found.lab["path"]
    ):
        discipline = random_.choice(("codel", "fq_codel", "pie"))
        queue = {"limit": "1 bdp", "discipline": discipline}
        changes.append(lambda lab: {**lab, "path": {**lab["path"], "queue": queue}})
    if found.kind in _FULL and random_.random() < _OFTEN_VARIES:
        varies = random_.choice((_in_steps, _with_a_bucket))(found.lab, random_)
        changes.append(lambda lab: _with_rate(lab, varies))
        found = replace(found, least_used=0.8)
    changes += _older(found, random_)
    for change in changes:
        found = changed(found, change)
    return found


def _older(planted: Planted, random_: random.Random) -> list[Callable[[dict[str, Any]], dict[str, Any]]]:
    """Hosts without options of TCP where these are not the limit, and late packets in a row."""
    changes: list[Callable[[dict[str, Any]], dict[str, Any]]] = []
    options: dict[str, Any] = {}
    if random_.random() < _OFTEN_WITHOUT_STAMPS:
        options["timestamps"] = False
        if planted.kind in (*_OWN_LIMIT, "reordering") and random_.random() < _OFTEN_WITHOUT_SACK:
            options |= {"sack": False, "dsack": False}
        changes.append(lambda lab: {**lab, "host": {**lab["host"], **options}})
    if planted.kind == "policer" and random_.random() < _OFTEN_LARGE_BUCKET:
        bucket_s = math.exp(random_.uniform(*map(math.log, _LARGE_BUCKET_S)))
        changes.append(lambda lab: _large_bucket(lab, bucket_s))
    correlation = random_.choice((0.25, 0.5))
    if planted.kind == "reordering" and random_.random() < _OFTEN_CORRELATED:
        changes.append(lambda lab: _jittered(lab, correlation=correlation))
    if planted.kind == "reordering" and random_.random() < _OFTEN_SLIGHT:
        packets = math.exp(random_.uniform(*map(math.log, _SLIGHT_PACKETS)))
        distribution = random_.choice(("normal", "uniform", "pareto"))
        changes.append(lambda lab: _slight(lab, packets, distribution))
    return changes


def _large_bucket(lab: dict[str, Any], of_s: float) -> dict[str, Any]:
    """A policer that lets so long a time of its rate pass at once, as some providers' do."""
    way = _way(lab)
    policer = lab["path"].get(way, {}).get("policer")
    if policer is None:
        return lab
    burst = f"{int(float(policer['rate'].split()[0]) * 1e6 / 8 * of_s)} B"
    return {**lab, "path": {**lab["path"], way: {**lab["path"][way], "policer": {**policer, "burst": burst}}}}


def _slight(lab: dict[str, Any], packets: float, distribution: str) -> dict[str, Any]:
    """Jitter by which packets overtake so many others, at the path's rate."""
    spread_s = packets * 1500 * 8 / (_rate_mbit_s(lab) * 1e6)
    return _jittered(lab, spread=f"{spread_s * 1e3:.4f} ms", distribution=distribution)


def _jittered(lab: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The jitter of each way that has one, changed."""

    def way(of: dict[str, Any]) -> dict[str, Any]:
        return {**of, "jitter": {**of["jitter"], **changes}} if "jitter" in of else of

    path = {name: way(each) if isinstance(each, dict) else each for name, each in lab["path"].items()}
    return {**lab, "path": way(path)}


def _control(planted: Planted, random_: random.Random) -> list[Callable[[dict[str, Any]], dict[str, Any]]]:
    """Another congestion control, where it does not take the limit away."""
    before = planted.lab["host"].get("congestion_control", "cubic")
    name = "bbr3" if before == "bbr" else random_.choice(_BY_LOSS_CONTROLS)
    if planted.kind in SET_BY_CONTROL or (before == "bbr" and planted.kind in BY_LOSS):
        return []
    if planted.kind == "slow-start" or isinstance(before, dict):
        return []
    return [lambda lab: {**lab, "host": {**lab["host"], "congestion_control": name}}]


def _way(lab: dict[str, Any]) -> str:
    return str(lab["workload"][0].get("direction", "down"))


def _rate_mbit_s(lab: dict[str, Any]) -> float:
    return float(lab["path"]["rate"].split()[0])


def _slower_back(lab: dict[str, Any], ratio: float) -> dict[str, Any]:
    back = _BACK[_way(lab)]
    of = lab["path"].get(back, {})
    if "rate" in of or "split" in lab or len(lab["workload"]) > 1:
        return lab
    slower = {**of, "rate": f"{_rate_mbit_s(lab) / ratio:.4f} Mbit/s", "queue": "200 ms"}
    return {**lab, "path": {**lab["path"], back: slower}}


def _beside(lab: dict[str, Any], beside: dict[str, Any]) -> dict[str, Any]:
    if "split" in lab or lab.get("until") == "done":
        return lab
    if beside["kind"] in ("call", "interactive"):
        beside = {**beside, "time": lab["duration"]}
    return {**lab, "workload": [*lab["workload"], beside]}


def _in_steps(lab: dict[str, Any], random_: random.Random) -> dict[str, Any]:
    """Rates that are another one from time to time, which are the lab's in the mean."""
    rate, whole_s = _rate_mbit_s(lab), float(lab["duration"].split()[0])
    count = random_.choice((3, 4, 6))
    drawn = [random_.uniform(0.7, 1.3) for _ in range(count)]
    mean = sum(drawn) / count
    steps = [
        [f"{n * whole_s / count:.2f} s", f"{rate * each / mean:.4f} Mbit/s"] for n, each in enumerate(drawn)
    ]
    return {"steps": steps}


def _with_a_bucket(lab: dict[str, Any], random_: random.Random) -> dict[str, Any]:
    """Of up to half a second at the path's rate, which passes up to three times as fast."""
    rate = _rate_mbit_s(lab)
    return {
        "rate": f"{rate:.4f} Mbit/s",
        "burst": f"{int(rate * 1e6 / 8 * random_.uniform(0.05, 0.5))} B",
        "peak": f"{rate * random_.uniform(1.3, 3):.4f} Mbit/s",
    }


def _with_rate(lab: dict[str, Any], rate: dict[str, Any]) -> dict[str, Any]:
    way = _way(lab)
    return {**lab, "path": {**lab["path"], way: {**lab["path"].get(way, {}), "rate": rate}}}


BY_WIDER: Mapping[str, Callable[[Planted], Planted | None]] = {"wide": wide, "around": around}
"""What changes labs of WIDER."""
