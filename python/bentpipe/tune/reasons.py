"""The sentences of a plan: reasons, costs, and changes that only others can make."""

import math
from collections.abc import Iterator, Sequence

from bentpipe.tune.path import TunedPath
from bentpipe.words.wording import duration, percent, rate, size

_WINDOW_OF_BUFFER = 0.62
"""Measured with kernel 6.18 and an MTU of 1500."""
_SENT_OF_BUFFER = 0.67
_SHORT_FACTOR = 1e6
_SEGMENT_BYTES = 1448
_USUAL_FIRST_SEGMENTS = 10
"""Linux's initial window, in segments (RFC 6928)."""
_MUCH = 0.2
"""Share of the time from which a finding is worth a sentence."""

SWITCHES = {
    "tcp_window_scaling": "Off, no window is above 64 kB.",
    "tcp_sack": "Off, a sender repairs one loss in a round trip.",
    "tcp_timestamps": "Off, round trips are sampled seldom, and wrapped sequence numbers are not detected.",
    "tcp_moderate_rcvbuf": "Off, receive buffers do not grow beyond the second number of tcp_rmem.",
}
MTU_PROBING = (
    "If a router drops long packets without saying so, connections stand still. With 1 they try shorter "
    "packets after two timeouts. Otherwise it does nothing."
)
NO_BBR = "bbr is neither loaded nor among this kernel's modules, so congestion control stays as it is."
NO_FQ = "This kernel has no queueing discipline fq, so queues stay as they are. TCP paces bbr without it."
CONTROL_COST = (
    "Others on the same bottleneck can get less, and a short queue makes bbr send much again "
    "(docs/labs/cures.md). Programs that choose their own control are not affected."
)
FQ = "fq sends the packets of a connection at its pacing rate instead of in bursts."
FQ_DEFAULT = "fq paces at the device; devices that are made later, at boot too, get it by this default."
FIRST_WINDOW_COST = "A burst at the start of every connection; a short queue on the way drops part of it."
IDLE = "A connection that paused keeps its window instead of beginning with slow start again."
IDLE_COST = "It sends its whole window at once after a pause."
LOWAT = (
    "A program that waits until it may write has at most 128 kB unsent, so what it writes next leaves "
    "sooner. No cure for a small window."
)
LOWAT_COST = "More wake-ups of the sending programs."


def plain(words: str) -> str:
    """With ordinary spaces between a figure and its unit."""
    return words.replace("\N{NO-BREAK SPACE}", " ").replace("\N{NARROW NO-BREAK SPACE}", " ")


def shown_value(value: str) -> str:
    return " ".join(value.split())


def not_here(name: str) -> str:
    if name.startswith("net.core."):
        return f"{name} is not visible in this network namespace: it belongs to the host."
    return f"{name} does not exist in this kernel."


def of_the_machine(name: str, now: str, wanted: str) -> str:
    return (
        f"{name} is {shown_value(now)}; {wanted} would be enough. It belongs to the whole machine and "
        "cannot be set from this network namespace. It caps only programs that set their buffers themselves."
    )


def unknown_rate(name: str, inferred_bit_s: float | None) -> str:
    given = _rate_to_give(inferred_bit_s)
    infers = "" if inferred_bit_s is None else " That is what the doctor infers."
    return (
        f"{name} limits, but neither the path's rate nor a simulated cure says how large it should be. "
        f"Give the rate: --rate {given}.{infers}"
    )


def no_size(inferred_bit_s: float | None) -> str:
    given = _rate_to_give(inferred_bit_s)
    return f"neither the path's rate nor a simulated cure says how large it should be; give --rate {given}"


def no_route(address: str | None) -> str:
    named = "is no default route of IPv4" if address is None else f"is no route to {address}"
    return f"There {named} with one next hop in the main table, so there is no first window to set."


def no_queue(devices: Sequence[str]) -> str:
    if not devices:
        return "no route names a device whose queue could be set"
    named = " and ".join(devices)
    return f"{named}: no queue there that tune could set, as on tunnels and in containers (noqueue)"


def _rate_to_give(inferred_bit_s: float | None) -> str:
    return "20Mbit/s" if inferred_bit_s is None else f"{inferred_bit_s / 1e6:.3g}Mbit/s"


def buffer(path: TunedPath, kind: str, now: str | None, most: int, bdps: float) -> str:
    """Why this buffer should be allowed so many bytes."""
    words = []
    found = path.limits.get(kind)
    if found and found.get("share", 0) >= 0.01:
        words.append(f"The doctor: {found['because']}, for {percent(found['share'])} of the time.")
    share = _WINDOW_OF_BUFFER if kind == "receiver-window" else _SENT_OF_BUFFER
    if path.bdp_bytes is not None:
        words.append(
            f"It should hold {bdps:g} BDP, and a BDP is {size(path.bdp_bytes)}: about {share:g} of a buffer "
            "is payload on its way."
        )
    elif path.inferred_bit_s is not None:
        words.append(
            f"The path was never full. The doctor infers about {rate(path.inferred_bit_s)} from how packets "
            "waited for each other. This is the size that was simulated; to plan for that rate, give it with "
            "--rate."
        )
    else:
        words.append("The path was never full, so its rate is unknown; this is the size that was simulated.")
    sizes = (now or "").split()
    if path.rtt_s and len(sizes) == 3:
        before, after = (share * int(each) * 8 / path.rtt_s for each in (sizes[2], most))
        words.append(
            f"By this size one connection can carry {rate(before)} now and {rate(after)} then "
            f"({share:g} x size / RTT)."
        )
    return " ".join(words)


def memory(most: int, all_bytes: int | None) -> str:
    words = f"Up to {size(most)} of memory for each connection that fills it; it grows only if needed."
    if all_bytes:
        many = all_bytes // most
        words += f" tcp_mem allows all connections {size(all_bytes)}: {many} such" + (
            "." if many >= 8 else "; that is few for a busy server."
        )
    return words


def limit(option: str, asked: int, most: int) -> str:
    return (
        f"It caps only programs that set {option}; the kernel's own sizing does not ask it. The kernel "
        f"doubles what a program sets, so {size(asked)} allow a buffer of {size(most)}, as this path needs."
    )


def control(path: TunedPath, kind: str | None) -> str:
    if kind is None:
        return "cubic and reno take every lost packet for a full queue. No loss was found to limit here."
    return (
        f"The doctor: {path.limits[kind]['because']}, for {percent(path.limits[kind]['share'])} of the time. "
        "bbr does not slow down for single losses."
    )


def first_window(path: TunedPath, segments: int) -> str:
    usual = _USUAL_FIRST_SEGMENTS
    words = f"A new connection sends {segments} segments in its first round trip instead of {usual}"
    holds = None if path.bdp_bytes is None else path.bdp_bytes / _SEGMENT_BYTES
    saved = _saved_round_trips(usual, segments, holds)
    first = size(usual * _SEGMENT_BYTES)
    if path.bdp_bytes is not None and not saved:
        return f"{words}. It saves no time here: a BDP, {size(path.bdp_bytes)}, is no more than {first}."
    if path.rtt_s:
        words += (
            f": a file of more than {first} takes up to {saved:.2g} round trips, "
            f"{duration(saved * path.rtt_s)}, less"
        )
    return f"{words}."


def _saved_round_trips(usual: int, more: int, path_holds: float | None) -> float:
    """How much sooner slow start fills a path, in round trips. `path_holds`: its BDP in segments; None: many
    more than both."""
    if path_holds is None:
        return math.log2(more / usual)
    return _left_empty(usual, path_holds) - _left_empty(more, path_holds)


def _left_empty(first: int, path_holds: float) -> float:
    """How many round trips' worth of a path slow start leaves unused, if its window doubles from `first`."""
    found, window = 0.0, float(first)
    while window < path_holds:
        found += 1 - window / path_holds
        window *= 2
    return found


def not_our_queue(device: str, kind: str) -> str:
    return (
        f"{device} has the queue {kind}, which somebody configured. tune leaves it; put fq below it yourself."
    )


def several_queues(device: str) -> str:
    return f"{device} has several queues (mq), and their kind is the host's default: it is set on the host."


def another_default(device: str, kind: str, default: str | None) -> str:
    return (
        f"{device} has the queue {kind}, and net.core.default_qdisc is {default}: tune could not put {kind} "
        f"back as it is, so it leaves it. By hand: tc qdisc replace dev {device} root fq"
    )


def _share(path: TunedPath, kind: str) -> float:
    return float(path.limits.get(kind, {}).get("share", 0))


def elsewhere(path: TunedPath) -> Iterator[str]:
    """What the other end and the applications have to do."""
    if path.here == "sender" and _share(path, "receiver-window") >= _MUCH:
        told = path.predictions.get("receiver.tcp_rmem")
        value = f" net.ipv4.tcp_rmem = {' '.join(map(str, told.value))}" if told else " a larger tcp_rmem"
        gives = f", which gives {rate(told.goodput_bit_s)} by simulation" if told else ""
        yield f"The receiver's window limits, and this host is the sender. The receiver needs{value}{gives}."
    if path.here == "receiver":
        if _share(path, "send-buffer") >= _MUCH:
            yield "The send buffer limits, and this host is the receiver. Run tune on the sender."
        yield (
            "Congestion control, pacing and the first window are the sender's; tcp_wmem there limits as "
            "tcp_rmem does here."
        )
    if _share(path, "receiver-application") >= _MUCH:
        yield "The receiving program reads too slowly. No setting of the kernel helps."
    if _share(path, "sender-application") >= _MUCH:
        yield "The sending program offers too little at times. No setting of the kernel helps."
    if path.bdp_bytes is not None and path.bdp_bytes <= _USUAL_FIRST_SEGMENTS * _SEGMENT_BYTES:
        return  # Any buffer holds that, and one connection fills the path.
    asked = "" if path.bdp_bytes is None else f", at least {size(path.bdp_bytes)} here"
    yield (
        "A program that sets SO_RCVBUF or SO_SNDBUF switches the kernel's sizing off, and tcp_rmem and "
        f"tcp_wmem no longer apply to it. Remove that from its configuration, or make it larger{asked}."
    )
    if path.bdp_bytes and path.goodput_bit_s and path.rate_bit_s:
        streams = math.ceil(path.rate_bit_s / max(path.goodput_bit_s, path.rate_bit_s / _SHORT_FACTOR))
        if 1 < streams <= 128:
            yield f"{streams} connections at once would fill the path too, if each gets what this one got."
    else:
        yield "Several connections at once carry several windows."
