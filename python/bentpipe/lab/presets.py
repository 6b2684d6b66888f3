"""Starting points for a path: the numbers of well-known long links, each with where it comes from.

Light in fibre covers about 204 km per ms (refractive index 1.468, ITU-T G.652); cables run some 1.3 times
the great circle. Light in vacuum covers 299.8 km per ms; a bent pipe's round trip crosses the orbit's
height four times.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Preset:
    """Keys of `[path]` as a lab file would have them, and the source of each number."""

    path: Mapping[str, Any]
    source: str
    down: Mapping[str, Any] = field(default_factory=dict)
    up: Mapping[str, Any] = field(default_factory=dict)


PRESETS: Mapping[str, Preset] = {
    "lan": Preset(
        {"rtt": "0.6 ms", "rate": "1 Gbit/s"},
        "RTT: the idle ping between two hosts published in effects-of-latency (0.613 ms). Rate: "
        "1000BASE-T, IEEE 802.3ab.",
    ),
    "continental": Preset(
        {"rtt": "30 ms", "rate": "1 Gbit/s"},
        "RTT: some 2400 km of fibre route with a detour of 1.3, there and back (30.6 ms). Rate: an "
        "access line of today.",
    ),
    "transatlantic": Preset(
        {"rtt": "70 ms", "rate": "1 Gbit/s"},
        "RTT: London - New York, 5570 km great circle, detour 1.3, there and back (71 ms); an "
        "operator's service level there is 90 ms.",
    ),
    "transpacific": Preset(
        {"rtt": "110 ms", "rate": "1 Gbit/s"},
        "RTT: Tokyo - Los Angeles, 8800 km great circle, detour 1.3, there and back (112 ms).",
    ),
    "intercontinental": Preset(
        {"rtt": "411 ms", "rate": "20 Mbit/s"},
        "Singapore - Hungary as measured in intercontinental-tuning: RTT 411 ms (average), server "
        "uplink 20 Mbit/s.",
    ),
    "leo": Preset(
        {"rtt": "40 ms"},
        "RTT: 550 km orbit (7.3 ms at the zenith) with scheduling and the way to a point of presence; "
        "Starlink's operator reported medians of 33 to 48.5 ms at peak hours in 2024. Rates: an ordinary "
        "residential plan. Handovers every 15 s are not in the preset, because their steps and losses differ "
        "from place to place: `handover` adds them.",
        down={"rate": "100 Mbit/s"},
        up={"rate": "10 Mbit/s"},
    ),
    "meo": Preset(
        {"rtt": "125 ms", "rate": "64 Mbit/s"},
        "RTT: O3b's orbit of 8062 km, 108 ms at the zenith and more beside it. Rate: an assumption, a "
        "trunk of an island.",
    ),
    "geo": Preset(
        {"rtt": "550 ms", "rate": "16 Mbit/s"},
        "RTT: 35 786 km, 477 ms under the satellite, 556 ms at the edge of its cover; 550.2 ms in "
        "effects-of-latency. "
        "Rate: the island link of satellite-baselines.",
    ),
}
