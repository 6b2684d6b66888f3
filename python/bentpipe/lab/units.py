"""Sizes, rates and times as people write them, read into exact integers: bytes, bit/s, nanoseconds.

Decimal prefixes are 10^3 6 9 12 and binary ones 2^10 20 30 40 (IEC 80000-13). The arithmetic is rational,
so "0.1 ms" is 100 000 ns and not nearly that; what does not come out whole ("0.3 B") is refused, not
rounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache, wraps

from bentpipe.lab.errors import FaultError
from bentpipe.words.faults import nearest, shown

TIME_UNITS: Mapping[str, Fraction] = {
    "ns": Fraction(1),
    "us": Fraction(10**3),
    "µs": Fraction(10**3),
    "ms": Fraction(10**6),
    "s": Fraction(10**9),
    "min": Fraction(60 * 10**9),
    "h": Fraction(3600 * 10**9),
}
SIZE_UNITS: Mapping[str, Fraction] = {
    "B": Fraction(1),
    **{f"{prefix}B": Fraction(10**power) for prefix, power in (("k", 3), ("M", 6), ("G", 9), ("T", 12))},
    **{f"{prefix}iB": Fraction(2**power) for prefix, power in (("K", 10), ("M", 20), ("G", 30), ("T", 40))},
}
RATE_UNITS: Mapping[str, Fraction] = {
    "bit/s": Fraction(1),
    **{f"{prefix}bit/s": Fraction(10**power) for prefix, power in (("k", 3), ("M", 6), ("G", 9), ("T", 12))},
    **{f"{unit}/s": 8 * factor for unit, factor in SIZE_UNITS.items()},
}
_KINDS: Mapping[str, tuple[str, Fraction]] = {
    "": ("", Fraction(1)),
    "packet": ("packets", Fraction(1)),
    "packets": ("packets", Fraction(1)),
    "bdp": ("bdp", Fraction(1)),
    **{unit: ("time", factor) for unit, factor in TIME_UNITS.items()},
    **{unit: ("size", factor) for unit, factor in SIZE_UNITS.items()},
    **{unit: ("rate", factor) for unit, factor in RATE_UNITS.items()},
}
_BITS = re.compile(r"(?P<prefix>[kKmMgGtT]?)(?:bps|[bB]its?(?:/s)?)")
"""Other ways to write a rate in bits that cannot mean anything else: Mbps, mbit, Mbits/s."""
_UNCLEAR = re.compile(r"(?P<prefix>[kKmMgGtT]?)(?P<rest>b|b/s|B|Bps|)")
"""A rate whose unit is cut short, or that may mean bits or bytes: 16M, 16 Mb/s, 2 MB."""
# How people also write a unit, and what it is called here. It is asked, not assumed.
_ALIASES: Mapping[str, str] = {
    "KB": "kB",
    "kb": "kB",
    "k": "kB",
    "K": "kB",
    "M": "MB",
    "G": "GB",
    "KB/s": "kB/s",
    "sec": "s",
    "secs": "s",
    "second": "s",
    "seconds": "s",
    "m": "min",
    "minutes": "min",
    "msec": "ms",
    "bytes": "B",
}

MOST_TIME_NS = 10**18
"""About 31 years: far beyond a run, and two of them still add up within 64 bits."""
MOST_SIZE_BYTES = 10**18
MOST_RATE_BIT_S = 10**15
MOST_PACKETS = 10**12
MOST_MULTIPLE = 10**6
ABOVE_ZERO = "expected a rate above zero"

_QUANTITY = re.compile(
    r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?(?P<exponent>[0-9]+))?)\s*(?P<unit>.*)", re.DOTALL
)
_DECIMAL_COMMA = re.compile(r",(?P<decimals>[0-9]+)\s*(?P<unit>[^0-9.,]*)")
"""What follows the whole number in "20,5 Mbit/s"."""
_MOST_DIGITS = 64
_MOST_EXPONENT_DIGITS = 2


def _split(value: object, what: str, units: Mapping[str, Fraction], example: str) -> tuple[Fraction, str]:
    """The number and the unit of a quantity; the unit is one of `units`."""
    would_do = f'expected a {what} with its unit, such as "{example}"'
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise FaultError(would_do, found=f"{shown(value)}, a number without a unit")
    if not isinstance(value, str):
        raise FaultError(would_do)
    match = _QUANTITY.fullmatch(value.strip())
    if match is None:
        raise FaultError(would_do)
    number, unit = match[1], match["unit"] if match["unit"] in units else canonical_unit(match["unit"])
    if not _is_computable(number, match["exponent"]):
        raise FaultError(would_do, found=f"{shown(value)}, whose number is out of range")
    if not unit:
        raise FaultError(would_do, found=f"{shown(value)}, a number without a unit")
    if unit not in units:
        asked = _asked(number, unit, units)
        names = ", ".join(name for name in units if name != "µs")
        raise FaultError(
            f"{asked}Units of {what}: {names}",
            found=f'{shown(value)}, but "{match["unit"][:40]}" is not a unit of {what}',
        )
    return Fraction(number), unit


def canonical_unit(unit: str) -> str:
    """What the unit is called here: "Mbit/s" for "Mbps" or "mbit"; any other unit is returned as it is."""
    match = _BITS.fullmatch(unit)
    return f"{_prefix(match['prefix'])}bit/s" if match else unit


def _prefix(written: str) -> str:
    return "k" if written in ("k", "K") else written.upper()


def _asked(number: str, unit: str, units: Mapping[str, Fraction]) -> str:
    """What a unit that is not known may have been meant to be, as a question with the value rewritten."""
    if match := _DECIMAL_COMMA.fullmatch(unit):
        known = canonical_unit(match["unit"])
        if known not in units:
            return ""
        thousands = f' or "{number}{match["decimals"]} {known}"' if len(match["decimals"]) == 3 else ""
        return f'did you mean "{number}.{match["decimals"]} {known}"{thousands}? '
    if units is RATE_UNITS and (match := _UNCLEAR.fullmatch(unit)):
        prefix = _prefix(match["prefix"])
        in_bits, in_bytes = f'"{number} {prefix}bit/s"', f'"{number} {prefix}B/s"'
        if match["rest"] in ("B", "Bps"):
            return f"did you mean {in_bytes}? "
        if match["rest"]:
            return f"did you mean {in_bits} (bits) or {in_bytes} (bytes)? "
        return f"did you mean {in_bits}? "
    near = _ALIASES.get(unit, "")
    near = near if near in units else nearest(unit, units) or ""
    # 20 ms for a rate is another quantity, not a rate that was misspelled.
    if any(unit in others for others in (TIME_UNITS, SIZE_UNITS, RATE_UNITS) if others is not units):
        near = ""
    return f'did you mean "{number} {near}"? ' if near else ""


def _whole(amount: Fraction, value: object, least: str, most: int, most_written: str) -> int:
    """The amount in the smallest unit, if it is whole and not beyond reason."""
    if abs(amount) > most:
        raise FaultError(f"expected at most {most_written}", found=f"{shown(value)}, which is out of range")
    if amount.denominator != 1:
        raise FaultError(
            f"expected a whole number of {least}", found=f"{shown(value)}, which is finer than that"
        )
    return int(amount)


def _remembered(parse: Callable[[object], int]) -> Callable[[object], int]:
    """The points of a sweep have the same texts thousands of times; each text is read once."""
    of_text = lru_cache(maxsize=4096)(parse)

    @wraps(parse)
    def read(value: object) -> int:
        return of_text(value) if type(value) is str else parse(value)

    return read


@_remembered
def parse_time(value: object) -> int:
    """Nanoseconds in "550 ms"; may be negative. Raises `FaultError`."""
    number, unit = _split(value, "time", TIME_UNITS, "550 ms")
    return _whole(number * TIME_UNITS[unit], value, "ns", MOST_TIME_NS, format_time(MOST_TIME_NS))


@_remembered
def parse_size(value: object) -> int:
    """Bytes in "100 kB" or "1 MiB", not negative. Raises `FaultError`."""
    number, unit = _split(value, "size", SIZE_UNITS, "100 kB")
    if number < 0:
        raise FaultError("expected a size of 0 B or more", found=f"{shown(value)}, which is negative")
    return _whole(number * SIZE_UNITS[unit], value, "bytes", MOST_SIZE_BYTES, format_size(MOST_SIZE_BYTES))


@_remembered
def parse_rate(value: object) -> int:
    """Bits per second in "16 Mbit/s" or "2 MB/s", at least 1. Raises `FaultError`."""
    number, unit = _split(value, "rate", RATE_UNITS, "16 Mbit/s")
    if number <= 0:
        raise FaultError(ABOVE_ZERO, found=f"{shown(value)}, which is not above zero")
    return _whole(number * RATE_UNITS[unit], value, "bit/s", MOST_RATE_BIT_S, format_rate(MOST_RATE_BIT_S))


def parse_packets(value: object) -> int:
    """A whole number of packets: 250 in "250 packets". Raises `FaultError`."""
    one = Fraction(1)
    number, _ = _split(value, "number of packets", {"packets": one, "packet": one}, "250 packets")
    if number < 0:
        raise FaultError("expected 0 packets or more", found=f"{shown(value)}, which is negative")
    return _whole(number, value, "packets", MOST_PACKETS, f"{MOST_PACKETS} packets")


def parse_multiple(value: str) -> Fraction:
    """The number in "0.25 bdp", above zero. Raises `FaultError`."""
    multiple, _ = _split(value, "multiple", {unit_of(value): Fraction(1)}, "1 bdp")
    if not 0 < multiple <= MOST_MULTIPLE:
        raise FaultError(
            'expected a multiple above zero, such as "1 bdp"', found=f"{shown(value)}, which is out of range"
        )
    return multiple


def parse_probability(value: object) -> float:
    """A probability, 0 to 1. A percentage is refused, since 1 may mean either. Raises `FaultError`."""
    would_do = "expected a probability from 0 to 1, such as 0.001 for one packet in a thousand"
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FaultError(would_do)
    if not 0 <= value <= 1:
        raise FaultError(would_do, found=f"{shown(value)}, which is out of range")
    return float(value)


def quantity(text: str) -> tuple[str, Fraction] | None:
    """What kind of quantity a text is and how much of it, in the kind's smallest unit: ("time", 550 000 000)
    for "550 ms". A number alone has the kind "". None: it is neither, or its unit is not known.
    """
    match = _QUANTITY.fullmatch(text.strip())
    if match is None or not _is_computable(match[1], match["exponent"]):
        return None
    unit = match["unit"] if match["unit"] in _KINDS else canonical_unit(match["unit"])
    unit = unit.lower() if unit.lower() == "bdp" else unit
    if unit not in _KINDS:
        return None
    kind, factor = _KINDS[unit]
    return kind, Fraction(match[1]) * factor


def _is_computable(number: str, exponent: str | None) -> bool:
    """An exponent of a billion would be computed for hours."""
    return len(number) <= _MOST_DIGITS and len(exponent or "") <= _MOST_EXPONENT_DIGITS


def unit_of(value: str) -> str:
    """What follows the number in a quantity, "" where nothing does or no number leads."""
    match = _QUANTITY.fullmatch(value.strip())
    return match["unit"] if match else ""


def _decimal(amount: int, factor: int) -> str:
    """amount / factor without rounding; the factor is a power of ten."""
    sign = "-" if amount < 0 else ""
    whole, rest = divmod(abs(amount), factor)
    digits = str(rest).rjust(len(str(factor)) - 1, "0").rstrip("0") if rest else ""
    return f"{sign}{whole}.{digits}" if digits else f"{sign}{whole}"


def _written(amount: int, units: tuple[tuple[str, int], ...]) -> str:
    for unit, factor in units:
        if abs(amount) >= factor:
            return f"{_decimal(amount, factor)} {unit}"
    return f"{amount} {units[-1][0]}"


def format_time(time_ns: int) -> str:
    """The time as one would write it, exactly: 600000 is "600 us"."""
    if time_ns == 0:
        return "0 s"
    return _written(time_ns, (("s", 10**9), ("ms", 10**6), ("us", 10**3), ("ns", 1)))


def format_size(size_bytes: int) -> str:
    """The size as one would write it, exactly: 100000 is "100 kB"."""
    return _written(size_bytes, (("GB", 10**9), ("MB", 10**6), ("kB", 10**3), ("B", 1)))


def format_rate(rate_bit_s: int) -> str:
    """The rate as one would write it, exactly: 16000000 is "16 Mbit/s"."""
    return _written(rate_bit_s, (("Gbit/s", 10**9), ("Mbit/s", 10**6), ("kbit/s", 10**3), ("bit/s", 1)))
