"""Labs with a limit that is known: of each kind of cause, with parameters drawn by a seed.

Rates are drawn from 1 to 1000 Mbit/s and round trips from 5 to 700 ms, both evenly on a logarithmic
scale. A planted limit is chosen by the formula of its cause, well below what the path could carry.
Whether a run really had it is checked against the pipe's own tables, which the doctor does not read, and
against the same lab without it (`has_its_limit` in records.py).
"""

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

MSS = 1448
HEADERS = 52
"""IPv4 and TCP with time stamps."""
_CUBIC = 1.054
_MOST_DRAWS = 10_000
_MOST_ROUNDS = 60
"""Of a slow start: after fewer its window exceeds any path."""
_LEAST_LATE = 5
"""Packets within the spread of jitter that changes their order."""
_FILLS_WITHIN = 0.15
_LOSS_COSTS_BBR_S = 0.1
"""Round trip from which on losses are likely to cost BBR much."""


@dataclass(frozen=True)
class Planted:
    kind: str
    """What the first finding has to be."""
    lab: dict[str, Any]
    also: str | None = None
    """A second cause that has to be named."""
    least_used: float = 0.0
    """Share of the path's rate that has to be used, by the pipe's own tables, for the label to hold."""
    most_used: float = 1.0
    lifted: dict[str, Any] | None = None
    """The same lab without the limit: what it uses more is what the limit costs. None: nothing to lift."""
    without_one: tuple[dict[str, Any], ...] = ()
    """Of several limits, the same lab without each of them: it has to carry a good part more."""


@dataclass(frozen=True)
class Path:
    rate_bit_s: float
    rtt_s: float
    least_s: float = 20.0
    round_trips: float = 60.0
    """How long a run lasts at least: so many seconds, and so many round trips."""

    @property
    def bdp(self) -> float:
        return self.rate_bit_s * self.rtt_s / 8

    def lab(self, **path: Any) -> dict[str, Any]:
        """A download over this path, by hosts whose buffers are no limit."""
        most = max(int(8 * self.bdp), 8 << 20)
        return {
            "duration": f"{self.long_s:.1f} s",
            "path": {
                "rtt": f"{self.rtt_s * 1e3:.3f} ms",
                "rate": f"{self.rate_bit_s / 1e6:.3f} Mbit/s",
                **path,
            },
            "host": {"tcp_rmem": [4096, 131072, most], "tcp_wmem": [4096, 16384, most]},
            "workload": [{"name": "download", "kind": "bulk", "direction": "down"}],
        }

    @property
    def long_s(self) -> float:
        """Long enough that slow start is a small part."""
        return max(self.least_s, self.round_trips * self.rtt_s)


@dataclass(frozen=True)
class Range:
    """Of which paths are drawn, both figures evenly on a logarithmic scale."""

    rate_bit_s: tuple[float, float] = (1e6, 1e9)
    rtt_s: tuple[float, float] = (0.005, 0.7)
    least_s: float = 20.0
    round_trips: float = 60.0


WHOLE = Range()
SMALLER = Range(rate_bit_s=(1e6, 1e8))
"""Of runs that cost less to simulate."""
SHORT = Range(rate_bit_s=(1e6, 1e8), rtt_s=(0.005, 0.25), least_s=6.0, round_trips=30.0)
"""Of transfers as short as a test of some seconds."""
NEAR = Range(rate_bit_s=(1e7, 1e9), rtt_s=(0.0002, 0.005), least_s=8.0)
"""Of nearer hosts than the doctor is made for."""


Plan = Callable[[Path, random.Random], Planted | None]
"""Draws a lab over a path; None: that path does not allow one."""


def draw(
    kind: str,
    seed: int,
    kinds: Mapping[str, Plan] | None = None,
    of: Range = WHOLE,
) -> Planted:
    """The lab of that kind and seed. `kinds`: of these instead of KINDS."""
    random_ = random.Random(f"{kind} {seed}")
    for _ in range(_MOST_DRAWS):
        rate_bit_s, rtt_s = _log(random_, *of.rate_bit_s), _log(random_, *of.rtt_s)
        path = Path(rate_bit_s, rtt_s, of.least_s, of.round_trips)
        found = (kinds or KINDS)[kind](path, random_)
        if found is not None:
            found.lab["seed"] = seed + 1
            lifted = found.lifted and {**found.lifted, "seed": seed + 1}
            without_one = tuple({**each, "seed": seed + 1} for each in found.without_one)
            return replace(found, lifted=lifted, without_one=without_one)
    raise ValueError(f"{kind}: none of {_MOST_DRAWS} paths of this range can have it")


def _log(random_: random.Random, low: float, high: float) -> float:
    return math.exp(random_.uniform(math.log(low), math.log(high)))


def _receiver_window(path: Path, random_: random.Random) -> Planted | None:
    window = random_.uniform(0.1, 0.5) * path.bdp
    if window < 20_000:
        return None
    lab = path.lab()
    most = int(window / 0.62)
    lab["client"] = {"tcp_rmem": [4096, min(131072, most), most]}
    return Planted("receiver-window", lab, most_used=0.8, lifted=path.lab())


def _send_buffer(path: Path, random_: random.Random) -> Planted | None:
    buffer = int(random_.uniform(0.1, 0.35) * path.bdp)
    if buffer < 20_000:
        return None
    lab = path.lab()
    lab["server"] = {"tcp_wmem": [4096, 16384, buffer]}
    return Planted("send-buffer", lab, most_used=0.8, lifted=path.lab())


def _slow_start(path: Path, random_: random.Random) -> Planted | None:
    """A file that ends in slow start, and takes at least six samples."""
    largest = 0.5 * path.bdp
    rounds = max(0.7 / path.rtt_s - 1, 2)
    least = 10 * MSS * (2**rounds - 1) if rounds < _MOST_ROUNDS else largest
    if least >= largest:
        return None
    lab = path.lab()
    size = int(_log(random_, least, largest))
    lab["workload"] = [{"name": "download", "kind": "http", "size": f"{size} B"}]
    lab["until"] = "done"
    return Planted("slow-start", lab, most_used=0.7)


def _random_loss(path: Path, random_: random.Random) -> Planted | None:
    """Loss at which CUBIC's window, or Reno's, is 5 to 50 % of the BDP (RFC 9438, 5.2)."""
    segments = random_.uniform(0.05, 0.5) * path.bdp / MSS
    if segments < 4:
        return None
    share = max(1.5 / segments**2, path.rtt_s / (segments / _CUBIC) ** (4 / 3))
    # Enough events for a mean: a hundred in the run.
    events = share * segments / path.rtt_s * path.long_s
    if share > 0.05 or events < 10:
        return None
    return Planted("random-loss", path.lab(loss=round(share, 9)), most_used=0.75, lifted=path.lab())


def _short_queue(path: Path, random_: random.Random) -> Planted | None:
    queue = random_.uniform(0.005, 0.1) * path.bdp
    if queue < 10 * 1500:
        return None
    return Planted("short-queue", path.lab(queue=f"{int(queue)} B"), most_used=0.88, lifted=path.lab())


def _capacity(path: Path, random_: random.Random) -> Planted | None:
    queue = random_.uniform(0.7, 2.0) * path.bdp
    if queue < 15_000:
        return None
    return Planted("capacity", path.lab(queue=f"{int(queue)} B"), least_used=0.93)


def _bufferbloat(path: Path, random_: random.Random) -> Planted | None:
    wait_s = max(random_.uniform(2, 8) * path.rtt_s, 0.1)
    queue = wait_s * path.rate_bit_s / 8
    if queue < 30_000 or wait_s > 5:
        return None
    return Planted(
        "capacity", path.lab(down={"queue": f"{int(queue)} B"}), also="bufferbloat", least_used=0.93
    )


def _sender_application(path: Path, random_: random.Random) -> Planted | None:
    """An upload whose data reaches the proxy at near by a slower LAN: near's application is the slow one."""
    lab = path.lab()
    lab["split"] = {}
    lab["near"] = {"rtt": "1 ms", "rate": f"{path.rate_bit_s * random_.uniform(0.1, 0.6) / 1e6:.3f} Mbit/s"}
    lab["workload"][0]["direction"] = "up"
    return Planted("sender-application", lab, most_used=0.8, lifted={**lab, "near": {"rtt": "1 ms"}})


def _receiver_application(path: Path, random_: random.Random) -> Planted | None:
    """A download that goes on from the proxy at near by a slower LAN: near's application reads slowly."""
    lab = path.lab()
    lab["split"] = {}
    share = random_.uniform(0.1, 0.6)
    lab["near"] = {"rtt": "1 ms", "rate": f"{path.rate_bit_s * share / 1e6:.3f} Mbit/s"}
    most = max(int(2 * path.bdp), 200_000)
    # Near has two buffers. Until both are full, the path limits.
    if 2 * most * 8 / (path.rate_bit_s * (1 - share)) > _FILLS_WITHIN * path.long_s:
        return None
    lab["host"] = {"tcp_rmem": [4096, 131072, most], "tcp_wmem": [4096, 16384, most]}
    return Planted("receiver-application", lab, most_used=0.8, lifted={**lab, "near": {"rtt": "1 ms"}})


def _policer(path: Path, random_: random.Random) -> Planted | None:
    share = random_.uniform(0.1, 0.6)
    burst = max(int(random_.uniform(0.02, 0.3) * share * path.rate_bit_s / 8), 6000)
    lab = path.lab(
        down={
            "policer": {
                "rate": f"{path.rate_bit_s * share / 1e6:.3f} Mbit/s",
                "burst": f"{burst} B",
            }
        }
    )
    return Planted("policer", lab, most_used=0.8, lifted=path.lab())


def _line_drops(path: Path, random_: random.Random) -> Planted | None:
    """A delay line that holds less than the BDP: half of the round trip is in each pipe."""
    packets = int(random_.uniform(0.1, 0.6) * path.bdp / 2 / 1500)
    if packets < 10:
        return None
    lab = path.lab(down={"delay_limit": f"{packets} packets"})
    return Planted("line-drops", lab, most_used=0.8, lifted=path.lab())


def _reordering(path: Path, random_: random.Random) -> Planted | None:
    spread_s = random_.uniform(0.05, 0.2) * path.rtt_s
    if spread_s * path.rate_bit_s / 8 < 20 * 1500:
        return None
    jitter = {"spread": f"{spread_s * 1e3:.3f} ms", "distribution": "uniform", "reorder": True}
    return Planted("reordering", path.lab(down={"jitter": jitter}), most_used=0.85, lifted=path.lab())


def _pacing(path: Path, random_: random.Random) -> Planted | None:
    lab = path.lab()
    rate = path.rate_bit_s * random_.uniform(0.1, 0.6)
    lab["host"]["congestion_control"] = {"name": "fixed-rate", "rate": f"{rate / 1e6:.3f} Mbit/s"}
    return Planted("pacing", lab, most_used=0.8, lifted=path.lab())


def _bounded(path: Path, random_: random.Random) -> Planted | None:
    """The same by the socket option, which real kernels have."""
    lab = path.lab()
    rate = path.rate_bit_s * random_.uniform(0.1, 0.6)
    lab["workload"][0]["max_pacing_rate"] = f"{rate / 1e6:.3f} Mbit/s"
    return Planted("pacing", lab, most_used=0.8, lifted=path.lab())


def _ack_path(path: Path, random_: random.Random) -> Planted | None:
    """The way back carries 15 to 60 % of the ACKs that one ACK for two segments would need."""
    needed = path.rate_bit_s * 52 / (2 * 1500)
    up = needed * random_.uniform(0.1, 0.5)
    if up < 3e3:
        return None
    lab = path.lab(up={"rate": f"{up / 1e6:.6f} Mbit/s"})
    return Planted("ack-path", lab, most_used=0.85, lifted=path.lab())


def _timeouts(path: Path, random_: random.Random) -> Planted | None:
    """So much loss that windows are a few segments, and retransmissions are lost too."""
    if path.bdp < 40 * MSS:
        return None
    lab = path.lab(loss=round(random_.uniform(0.12, 0.25), 3))
    return Planted("timeouts", lab, most_used=0.5, lifted=path.lab())


def _outage(path: Path, random_: random.Random) -> Planted | None:
    lab = path.lab(queue="1 bdp")
    length_s = random_.uniform(0.2, 0.35) * path.long_s
    lab["path"]["outages"] = [[f"{path.long_s * 0.4:.2f} s", f"{length_s:.2f} s"]]
    if path.bdp < 20_000:
        return None
    return Planted("outage", lab, least_used=0.3, most_used=0.85, lifted=path.lab(queue="1 bdp"))


def _tcp_options(path: Path, _random: random.Random) -> Planted | None:
    """No window scaling on a path whose BDP is several times 64 kB."""
    if path.bdp < 3 * 65_535:
        return None
    lab = path.lab()
    lab["client"] = {"window_scaling": False}
    return Planted("tcp-options", lab, most_used=0.8, lifted=path.lab())


def _aqm_full(path: Path, random_: random.Random) -> Planted | None:
    """A queue that drops early and does no harm by it."""
    return Planted("capacity", _managed(path, random_), least_used=0.93)


def _aqm_short(path: Path, random_: random.Random) -> Planted | None:
    """A queue that drops too early for one connection over this round trip."""
    return Planted(
        "short-queue", _managed(path, random_), most_used=0.88, lifted=path.lab(down={"queue": "2 bdp"})
    )


def _managed(path: Path, random_: random.Random) -> dict[str, Any]:
    limit = max(random_.uniform(1, 6) * path.bdp, 60_000)
    discipline = random_.choice(("codel", "fq_codel", "pie", "red"))
    return path.lab(down={"queue": {"limit": f"{int(limit)} B", "discipline": discipline}})


def _bursty_loss(path: Path, random_: random.Random) -> Planted | None:
    """Losses that come some at a time (Gilbert-Elliott), as by radio. TCP answers once to each burst."""
    segments = random_.uniform(0.05, 0.4) * path.bdp / MSS
    if segments < 4:
        return None
    bursts = max(1.5 / segments**2, path.rtt_s / (segments / _CUBIC) ** (4 / 3))
    if bursts > 0.02 or bursts * segments / path.rtt_s * path.long_s < 10:
        return None
    length = random_.uniform(1.5, 6.0)
    model = {"model": "gilbert-elliott", "p": round(bursts, 9), "r": round(1 / length, 6), "good": 0.0}
    lab = path.lab(down={"loss": {**model, "bad": random_.uniform(0.3, 1.0)}})
    return Planted("random-loss", lab, most_used=0.75, lifted=path.lab())


def _late_loss(path: Path, random_: random.Random) -> Planted | None:
    """Losses on a path that also changes the order of packets, which costs less."""
    found = _random_loss(path, random_)
    spread_s = _log(random_, 0.02, 0.15) * path.rtt_s
    if found is None or spread_s * path.rate_bit_s / 8 < _LEAST_LATE * 1500:
        return None
    distribution = random_.choice(("uniform", "normal", "pareto"))
    jitter = {"spread": f"{spread_s * 1e3:.3f} ms", "distribution": distribution, "reorder": True}
    late = {"down": {"jitter": jitter}}
    lab = path.lab(loss=found.lab["path"]["loss"], **late)
    return Planted("random-loss", lab, most_used=0.75, lifted=path.lab(**late))


def _bbr_loss(path: Path, random_: random.Random) -> Planted | None:
    """Losses that cost BBR a quarter and more: they break its start and end in timeouts."""
    if path.rtt_s < _LOSS_COSTS_BBR_S:
        return None
    lab = _by_bbr(path, loss=round(10 ** random_.uniform(-1.7, -0.9), 4))
    return Planted("random-loss", lab, most_used=0.75, lifted=_by_bbr(path))


def _bbr_full(path: Path, random_: random.Random) -> Planted | None:
    """Losses that BBR passes: it fills the path."""
    return Planted("capacity", _by_bbr(path, loss=round(10 ** random_.uniform(-2.5, -1), 4)), least_used=0.9)


def _by_bbr(path: Path, **more: Any) -> dict[str, Any]:
    lab = path.lab(queue="2 bdp", **more)
    lab["host"]["congestion_control"] = "bbr"
    return lab


KINDS: dict[str, Plan] = {
    "receiver-window": _receiver_window,
    "receiver-application": _receiver_application,
    "send-buffer": _send_buffer,
    "sender-application": _sender_application,
    "slow-start": _slow_start,
    "random-loss": _random_loss,
    "short-queue": _short_queue,
    "policer": _policer,
    "capacity": _capacity,
    "bufferbloat": _bufferbloat,
    "reordering": _reordering,
    "line-drops": _line_drops,
    "pacing": _pacing,
    "ack-path": _ack_path,
    "timeouts": _timeouts,
    "outage": _outage,
    "tcp-options": _tcp_options,
}

BY_BBR: dict[str, Plan] = {"bbr-loss": _bbr_loss, "bbr-full": _bbr_full}

OTHERS: dict[str, Plan] = {
    "aqm-full": _aqm_full,
    "aqm-short": _aqm_short,
    "bursty-loss": _bursty_loss,
    "late-loss": _late_loss,
    **BY_BBR,
}
"""Labs with the same limits by other means."""

REAL = {**KINDS, "pacing": _bounded}
"""The same without what only `sim` has."""
