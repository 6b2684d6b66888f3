"""Plans the settings of this host for a path, with reasons. It changes nothing.

A buffer is never made smaller than it is now. What costs others something, or helps only some work, is
offered and not chosen, unless the doctor's findings ask for it.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bentpipe.errors import TuneError, clause
from bentpipe.tune import reasons
from bentpipe.tune.machine import Machine
from bentpipe.tune.path import Prediction, TunedPath
from bentpipe.tune.settings import OUR_HANDLE, Setting, plainly, with_first_windows
from bentpipe.words.faults import nearest

RMEM, WMEM = "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"
PACING_QUEUE = "fq"
CONTROL = "net.ipv4.tcp_congestion_control"
_RECEIVE_BDPS = 2.0
"""Measured need: 1.6. Two leave room for what the window holds beyond a BDP."""
_SEND_BDPS = 3.2
"""The kernel sizes a send buffer by 2 x cwnd x memory per segment; with less it stops before cwnd does."""
_LEAST_BUFFER_BYTES = 4096
_MOST_BUFFER_BYTES = 2**31 - 1
_FIRST_SEGMENTS = 40
_LOWAT_BYTES = 131_072
_LOWAT_OFF = 2**32 - 1
_LEAST_SHARE = 0.05
"""Share of the time from which a finding asks for a change."""
_LOSS_KINDS = ("random-loss", "short-queue", "policer", "line-drops")
_SWITCHES = ("tcp_window_scaling", "tcp_sack", "tcp_timestamps", "tcp_moderate_rcvbuf")
_RECEIVERS_KEYS = ("receive-buffer", "receive-limit")
_SENDERS_KEYS = ("send-buffer", "send-limit", "bbr", "fq", "first-window", "idle", "lowat")
_KEYS = (
    *_RECEIVERS_KEYS,
    *_SENDERS_KEYS,
    *(name.removeprefix("tcp_") for name in _SWITCHES),
    "mtu-probing",
)
"""What `--with` and `--without` may name."""


@dataclass(frozen=True)
class Change:
    """One setting, now and as wanted."""

    key: str
    """What `--with` and `--without` call it."""
    setting: Setting
    now: str
    wanted: str
    why: str
    cost: str = ""
    prediction: Prediction | None = None
    chosen: bool = True
    survives: bool = True
    """Whether a drop-in file brings it back at boot."""

    def as_json(self) -> dict[str, Any]:
        told = self.prediction
        return {
            "key": self.key,
            "kind": self.setting.kind,
            "name": self.setting.name,
            "now": plainly(self.now),
            "wanted": plainly(self.wanted),
            "why": reasons.plain(self.why),
            "cost": reasons.plain(self.cost),
            "chosen": self.chosen,
            "survives_reboot": self.survives,
            "predicted_mbit_s": None if told is None else round(told.goodput_bit_s / 1e6, 3),
            "interval": None
            if told is None
            else [told.low_bit_s / 1e6, None if told.high_bit_s is None else told.high_bit_s / 1e6],
        }


@dataclass(frozen=True)
class Plan:
    path: TunedPath
    changes: Sequence[Change]
    """Chosen ones first."""
    enough: Sequence[str]
    """What is as it should be: names with values."""
    impossible: Sequence[str]
    """Sentences on what would help and cannot be set here."""
    elsewhere: Sequence[str]
    """Sentences on what the other end or the application has to do."""
    needless: Sequence[str] = ()
    """Sentences on changes that were asked for and are set already."""

    @property
    def chosen(self) -> list[Change]:
        return [each for each in self.changes if each.chosen]

    @property
    def offered(self) -> list[Change]:
        return [each for each in self.changes if not each.chosen]

    def as_json(self) -> dict[str, Any]:
        path = self.path
        return {
            "path": {
                "here": path.here,
                "rate_mbit_s": None if path.rate_bit_s is None else path.rate_bit_s / 1e6,
                "inferred_rate_mbit_s": None if path.inferred_bit_s is None else path.inferred_bit_s / 1e6,
                "rtt_s": path.rtt_s,
                "loss": path.loss,
                "bdp_bytes": None if path.bdp_bytes is None else round(path.bdp_bytes),
                "source": path.source,
                "transfer": path.transfer,
                "findings": [*path.limits],
            },
            "changes": [each.as_json() for each in self.changes],
            "enough": [*map(reasons.plain, self.enough)],
            "impossible": [*map(reasons.plain, self.impossible)],
            "elsewhere": [*map(reasons.plain, self.elsewhere)],
            "needless": [*map(reasons.plain, self.needless)],
        }


class _Draft:
    """A plan while it is made."""

    def __init__(self, path: TunedPath, machine: Machine) -> None:
        self.path = path
        self.machine = machine
        self.changes: list[Change] = []
        self.enough: list[str] = []
        self.impossible: list[str] = []
        self.why_not: dict[str, str] = {}
        """Why a change cannot be offered, by key."""
        self.held: dict[str, str] = {}
        """What is as it should be: name and value, by key."""

    def cannot(self, key: str, why: str) -> None:
        self.impossible.append(why)
        self.why_not[key] = why

    def hold(self, key: str, what: str) -> None:
        self.enough.append(what)
        self.held[key] = what

    def sysctl(self, key: str, name: str, wanted: Callable[[str], str | None], why: str, **more: Any) -> None:
        """A change of a sysctl. `wanted`: the value, by the present one; None where that is enough."""
        setting = self.machine.sysctl(name)
        now = setting.read()
        value = None if now is None else wanted(now)
        if now is None:
            self.cannot(key, reasons.not_here(name))
        elif value is None or setting.same(now, value):
            self.hold(key, f"{name} {plainly(now)}")
        elif not self.machine.may_write(name):
            self.cannot(key, reasons.of_the_machine(name, now, value))
        else:
            self.changes.append(Change(key, setting, now, value, why, **more))


def plan(
    path: TunedPath,
    machine: Machine,
    *,
    add: Collection[str] = (),
    leave: Collection[str] = (),
    address: str | None = None,
) -> Plan:
    """What to set. `add`, `leave`: keys of changes that are chosen besides, or not.

    `address`: whose route and device are meant; default: the default routes.

    Raises TuneError where a key is not known or cannot be added, or the path tells too little.
    """
    _check_keys(path, add, leave)
    if address is not None and not path.sends:
        raise TuneError("--destination: route and device matter to a sender, and this host only receives")
    draft = _Draft(path, machine)
    if path.rtt_s is None:
        raise TuneError("the round trip of the path is not known; give it: --rtt 300ms")
    if path.receives:
        _buffer(draft, _RECEIVE)
    if path.sends:
        _buffer(draft, _SEND)
    for name in _SWITCHES:
        draft.sysctl(name.removeprefix("tcp_"), f"net.ipv4.{name}", _if_off("1"), reasons.SWITCHES[name])
    draft.sysctl("mtu-probing", "net.ipv4.tcp_mtu_probing", _if_off("1"), reasons.MTU_PROBING)
    if path.sends:
        _control(draft)
        _bursts(draft, address)
    offered = {each.key for each in draft.changes}
    for key in add:
        if key in draft.why_not and key not in offered:
            raise TuneError(f"--with {key}: {clause(reasons.plain(draft.why_not[key]))}")
    needless = [
        f"--with {key} changes nothing: {draft.held[key]} already."
        for key in dict.fromkeys(add)
        if key in draft.held and key not in offered
    ]
    changes = [
        replace(each, chosen=(each.chosen or each.key in add) and each.key not in leave)
        for each in draft.changes
    ]
    if any(each.chosen and each.key == "bbr" for each in changes) and "fq" not in leave:
        changes = [replace(each, chosen=each.chosen or each.key == "fq") for each in changes]
    changes.sort(key=lambda each: not each.chosen)
    return Plan(path, changes, draft.enough, draft.impossible, [*reasons.elsewhere(path)], needless)


def _check_keys(path: TunedPath, add: Collection[str], leave: Collection[str]) -> None:
    for key in (*add, *leave):
        if key not in _KEYS:
            near = nearest(key, _KEYS)
            remedy = f"did you mean {near}?" if near else f"changes: {', '.join(sorted(_KEYS))}"
            raise TuneError(f'unknown change "{key}"; {remedy}')
    for key in add:
        if key in leave:
            raise TuneError(f"found --with {key} and --without {key}; expected one of them")
        if key in (_RECEIVERS_KEYS if not path.receives else _SENDERS_KEYS if not path.sends else ()):
            does, only = ("sends", "receives") if key in _SENDERS_KEYS else ("receives", "sends")
            raise TuneError(f"--with {key}: it is for a host that {does}, and this host only {only} (--here)")


@dataclass(frozen=True)
class _Buffer:
    """One of the two buffers: the sysctl of its sizes, and the one that caps programs that set their own."""

    key: str
    name: str
    bdps: float
    limits: str
    """The doctor's finding, if this buffer limits."""
    predicted: str
    cap_key: str
    cap: str
    option: str


_RECEIVE = _Buffer(
    "receive-buffer",
    RMEM,
    _RECEIVE_BDPS,
    "receiver-window",
    "receiver.tcp_rmem",
    "receive-limit",
    "net.core.rmem_max",
    "SO_RCVBUF",
)
_SEND = _Buffer(
    "send-buffer",
    WMEM,
    _SEND_BDPS,
    "send-buffer",
    "sender.tcp_wmem",
    "send-limit",
    "net.core.wmem_max",
    "SO_SNDBUF",
)


def _buffer(draft: _Draft, of: _Buffer) -> None:
    path = draft.path
    told = path.predictions.get(of.predicted)
    now = draft.machine.sysctl(of.name).read()
    most = _most_bytes(path, of.bdps, told)
    if most is None:
        if path.limits.get(of.limits, {}).get("share", 0) >= _LEAST_SHARE:
            draft.cannot(of.key, reasons.unknown_rate(of.name, path.inferred_bit_s))
        else:
            draft.enough.append(f"{of.name} {plainly(now or 'unknown')}, which did not limit")
        for key in (of.key, of.cap_key):
            draft.why_not[key] = reasons.no_size(path.inferred_bit_s)
        return

    def sizes(present: str) -> str | None:
        found = [int(word) for word in present.split()]
        if len(found) != 3 or found[2] >= most:
            return None
        return "\t".join(map(str, (*found[:2], most)))

    asked = (most + 1) // 2
    draft.sysctl(
        of.key,
        of.name,
        sizes,
        reasons.buffer(path, of.limits, now, most, of.bdps),
        cost=reasons.memory(most, draft.machine.tcp_memory_bytes),
        prediction=told if told and int(told.value[2]) == most else None,
    )
    draft.sysctl(
        of.cap_key,
        of.cap,
        lambda present: None if int(present) >= asked else str(asked),
        reasons.limit(of.option, asked, most),
    )


def _most_bytes(path: TunedPath, bdps: float, told: Prediction | None) -> int | None:
    """Of a buffer; None where neither the path's rate nor a simulation says it."""
    by_rate = None if path.bdp_bytes is None else round(bdps * path.bdp_bytes)
    simulated = int(told.value[2]) if told else None
    found = max((each for each in (by_rate, simulated) if each is not None), default=None)
    return None if found is None else max(_LEAST_BUFFER_BYTES, min(found, _MOST_BUFFER_BYTES))


def _if_off(value: str) -> Callable[[str], str | None]:
    return lambda now: value if now.strip() == "0" else None


def _control(draft: _Draft) -> None:
    path, machine = draft.path, draft.machine
    found = next((kind for kind in _LOSS_KINDS if kind in path.limits), None)
    matters = found is not None and path.limits[found].get("share", 0) >= _LEAST_SHARE
    if "bbr" not in machine.controls() and not machine.has_module("tcp_bbr"):
        draft.cannot("bbr", reasons.NO_BBR)
        return
    told = path.predictions.get("congestion_control")
    draft.sysctl(
        "bbr",
        CONTROL,
        lambda now: None if now.startswith("bbr") else "bbr",
        reasons.control(path, found if matters else None),
        cost=reasons.CONTROL_COST,
        prediction=told if told and told.value == "bbr" else None,
        chosen=matters,
    )


def _bursts(draft: _Draft, address: str | None) -> None:
    """Pacing, the first window, idle connections, and what waits unsent."""
    path, machine = draft.path, draft.machine
    routes = machine.routes(address)
    has_bbr = any(each.key == "bbr" and each.chosen for each in draft.changes) or (
        machine.sysctl(CONTROL).read() or ""
    ).startswith("bbr")
    draft.changes += _queues(draft, address, chosen=has_bbr)
    if not routes:
        draft.cannot("first-window", reasons.no_route(address))
    short = path.limits.get("slow-start", {}).get("share", 0) >= 0.2
    told = path.predictions.get("sender.initcwnd")
    for route in routes:
        now = route.read()
        wanted = None if now is None else with_first_windows(now, _FIRST_SEGMENTS)
        if now is None or wanted is None:
            continue
        if route.same(now, wanted):
            draft.hold("first-window", f"first windows of the route {route.name}")
        else:
            why, cost = reasons.first_window(path, _FIRST_SEGMENTS), reasons.FIRST_WINDOW_COST
            draft.changes.append(
                Change("first-window", route, now, wanted, why, cost, told, chosen=short, survives=False)
            )
    draft.sysctl(
        "idle",
        "net.ipv4.tcp_slow_start_after_idle",
        lambda now: "0" if now.strip() == "1" else None,
        reasons.IDLE,
        cost=reasons.IDLE_COST,
        chosen=False,
    )
    draft.sysctl(
        "lowat",
        "net.ipv4.tcp_notsent_lowat",
        lambda now: str(_LOWAT_BYTES) if int(now) % 2**32 == _LOWAT_OFF else None,
        reasons.LOWAT,
        cost=reasons.LOWAT_COST,
        chosen=False,
    )


def _queues(draft: _Draft, address: str | None, *, chosen: bool) -> Iterator[Change]:
    machine = draft.machine
    devices = machine.devices(machine.routes(address))
    present = {each.name: each.read() for each in devices}
    usual = machine.sysctl("net.core.default_qdisc")
    default = usual.read()
    ours = {name: value for name, value in present.items() if value and not value.startswith("noqueue")}
    if not ours:
        draft.why_not["fq"] = reasons.no_queue([*present])
        return
    if all(value.startswith(f"{PACING_QUEUE} ") for value in ours.values()):
        for name in ours:
            draft.hold("fq", f"queue of {name} fq")
        return
    if machine.has_queue(PACING_QUEUE) is False:
        draft.cannot("fq", reasons.NO_FQ)
        return
    if default is not None and default != PACING_QUEUE:
        yield Change("fq", usual, default, PACING_QUEUE, reasons.FQ_DEFAULT, chosen=chosen)
    for device in devices:
        value = ours.get(device.name)
        if value is None or value.startswith(f"{PACING_QUEUE} "):
            continue
        kind, handle = value.split()
        if handle != "0:":
            draft.cannot("fq", reasons.not_our_queue(device.name, kind))
        elif kind == "mq" and default is None:
            draft.cannot("fq", reasons.several_queues(device.name))
        elif default not in (None, kind) and kind != "mq":
            draft.cannot("fq", reasons.another_default(device.name, kind, default))
        else:
            wanted = "mq" if kind == "mq" else PACING_QUEUE
            yield Change(
                "fq", device, value, f"{wanted} {OUR_HANDLE}", reasons.FQ, chosen=chosen, survives=False
            )
