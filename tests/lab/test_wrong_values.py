"""Wrong values: without a unit, out of range, of a wrong type, under an unknown key."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from .conftest import WORK
from .wrong import WriteLab, Wrong, assert_told

WRONG: Mapping[str, Wrong] = {
    "a number without a unit": (
        "[path]\nrtt = 550\n" + WORK,
        ":2",
        "path.rtt",
        "550, a number without a unit",
        '"550 ms"',
    ),
    "a text without a unit": (
        '[path]\nrate = "16"\n' + WORK,
        ":2",
        "path.rate",
        "a number without a unit",
        "16 Mbit/s",
    ),
    "an unknown unit": (
        '[path]\nrate = "16 Mb/s"\n' + WORK,
        ":2",
        "path.rate",
        '"Mb/s" is not a unit of rate',
        '"16 Mbit/s" (bits)',
    ),
    "a queue without a unit": (
        '[path]\nrate = "1 Mbit/s"\nqueue = 100\n' + WORK,
        ":3",
        "path.queue",
        "100, a number without a unit",
        "1 bdp",
    ),
    "a delay line without a unit": (
        "[path]\ndelay_limit = 1000\n" + WORK,
        ":2",
        "path.delay_limit",
        "1000, a number without a unit",
        "1000 packets",
    ),
    "an unknown key at the top": (
        'titel = "x"\n' + WORK,
        ":1",
        "titel",
        "an unknown key",
        'did you mean "title"?',
    ),
    "a tunnel that is no table": (
        'tunnel = "coded"\n' + WORK,
        ":1",
        "tunnel",
        '"coded"',
        "{} takes every default",
    ),
    "a host's key at the top": (
        'congestion_control = "bbr"\n' + WORK,
        ":1",
        "congestion_control",
        "an unknown key",
        'did you mean "host.congestion_control"?',
    ),
    "a key at the top that no known key is like": (
        WORK + "[zeppelin]\nredundancy = 0\n",
        ":5",
        "zeppelin",
        "an unknown key",
        "keys at the top: ",
    ),
    "an unknown key": ('[path]\nrrt = "5 ms"\n' + WORK, ":2", "path.rrt", "unknown", 'did you mean "rtt"?'),
    "an unknown key of a workload": (
        WORK + "steams = 2\n",
        ":5",
        "workload.download.steams",
        "unknown",
        'did you mean "streams"?',
    ),
    "an unknown key of an inline table": (
        '[path]\njitter = { spred = "5 ms" }\n' + WORK,
        ":2",
        "path.jitter.spred",
        "unknown",
        'did you mean "spread"?',
    ),
    "a key of another discipline": (
        '[path]\nrate = "1 Mbit/s"\nqueue = { discipline = "fifo", target = "5 ms" }\n' + WORK,
        ":3",
        "path.queue.target",
        "unknown",
        "keys here: discipline, limit",
    ),
    "a negative time": (
        '[path]\nrtt = "-5 ms"\n' + WORK,
        ":2",
        "path.rtt",
        '"-5 ms", which is negative',
        "0 s or more",
    ),
    "a loss above one": (
        "[path]\nloss = 1.5\n" + WORK,
        ":2",
        "path.loss",
        "1.5, which is out of range",
        "from 0 to 1",
    ),
    "a negative loss": (
        "[path.down]\nloss = -0.1\n" + WORK,
        ":2",
        "path.down.loss",
        "out of range",
        "from 0 to 1",
    ),
    "a loss that is no number": ("[path]\nloss = nan\n" + WORK, ":2", "path.loss", "nan", "from 0 to 1"),
    "a loss in per cent": ('[path]\nloss = "1 %"\n' + WORK, ":2", "path.loss", '"1 %"', "0.001"),
    "a rate of zero": ('[path]\nrate = "0 bit/s"\n' + WORK, ":2", "path.rate", "not above zero", "outages"),
    "no repeats": ("repeat = 0\n" + WORK, ":1", "repeat", "0, which is out of range", "at least 1"),
    "too many streams": (WORK + "streams = 129\n", ":5", "workload.download.streams", "129", "at most 128"),
    "pings too close": (
        '[[workload]]\nkind = "ping"\ninterval = "1 ms"\n',
        ":3",
        "workload.ping.interval",
        '"1 ms"',
        "at least 2 ms",
    ),
    "a wrong type": ('[path]\nmtu = "1500"\n' + WORK, ":2", "path.mtu", '"1500"', "a whole number"),
    "a value for a table": ("path = 3\n" + WORK, ":1", "path", "3", "a table"),
    "a text for a switch": ('[host]\nsack = "on"\n' + WORK, ":2", "host.sack", '"on"', "true or false"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_value_is_told_where_what_and_what_would_do(name: str, lab_file: WriteLab) -> None:
    assert_told(WRONG[name], lab_file)
