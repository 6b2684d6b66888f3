"""Wrong workloads: what is to be carried, when, and by which names."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from .conftest import WORK
from .wrong import WriteLab, Wrong, assert_told

WRONG: Mapping[str, Wrong] = {
    "no workload": ('title = "x"\n', "", "workload", "no workload", "[[workload]]"),
    "a name given twice": (
        WORK + WORK,
        ":6",
        "workload.download.name",
        'a second workload called "download"',
        "another",
    ),
    "a name that both directions take": (
        WORK + 'direction = "both"\n[[workload]]\nname = "download-up"\nkind = "ping"\n',
        ":7",
        "workload.download-up.name",
        'a second workload called "download-up"',
        "another name",
    ),
    "a name with a dot": (
        '[[workload]]\nname = "a.b"\nkind = "ping"\n',
        ":2",
        ".name",
        '"a.b"',
        "letters, digits",
    ),
    "an unknown kind": ('[[workload]]\nkind = "blk"\n', ":2", "kind", '"blk"', 'did you mean "bulk"?'),
    "a workload without a kind": (
        '[[workload]]\nname = "x"\n',
        ":1",
        "workload.x.kind",
        "nothing",
        "one of ping, bulk",
    ),
    "a size and a time": (
        WORK + 'size = "1 MB"\n',
        ":4",
        "workload.download.time",
        'both "size" and "time"',
        "only one of them",
    ),
    "a count and a time of messages": (
        '[[workload]]\nname = "keys"\nkind = "interactive"\ncount = 10\ntime = "5 s"\n',
        ":5",
        "workload.keys.time",
        'both "count" and "time"',
        "only one of them",
    ),
    "messages without an end in a lab without a duration": (
        '[[workload]]\nname = "keys"\nkind = "interactive"\n',
        "",
        "duration",
        "none",
        'workload "keys" has no end of its own',
    ),
    "messages that are too close": (
        'duration = "5 s"\n[[workload]]\nname = "keys"\nkind = "interactive"\ninterval = "1 us"\n',
        ":5",
        "workload.keys.interval",
        '"1 us"',
        "1 ms",
    ),
    "unknown gaps": (
        'duration = "5 s"\n[[workload]]\nname = "keys"\nkind = "interactive"\ngaps = "random"\n',
        ":5",
        "workload.keys.gaps",
        '"random"',
        '"fixed" or "exponential"',
    ),
    "an unknown direction": (
        WORK + 'direction = "sideways"\n',
        ":5",
        "workload.download.direction",
        '"sideways"',
        '"down", "up" or "both"',
    ),
    "a start after the end": (
        'duration = "10 s"\n' + WORK + 'start = "12 s"\n',
        ":6",
        "workload.download.start",
        '"12 s"',
        '"10 s"',
    ),
    "no end": (
        '[[workload]]\nkind = "bulk"\n',
        "",
        "duration",
        "none",
        'workload "bulk" has no end of its own',
    ),
    "an end that is not given": ('until = "duration"\n' + WORK, "", "duration", "none", 'until = "done"'),
    "all of a transfer left out": (
        'duration = "5 s"\n[[workload]]\nkind = "bulk"\nomit = "5 s"\n',
        ":4",
        "workload.bulk.omit",
        '"5 s"',
        "before the run",
    ),
    "a bound of pacing that iperf3 cannot set": (
        'duration = "5 s"\n[[workload]]\nkind = "bulk"\nmax_pacing_rate = "40 Gbit/s"\n',
        ":4",
        "workload.bulk.max_pacing_rate",
        "40 Gbit/s",
        "32 Gbit/s",
    ),
    "a bound of pacing by size": (
        '[[workload]]\nkind = "bulk"\nsize = "1 MB"\nmax_pacing_rate = "4 Mbit/s"\n',
        ":4",
        "workload.bulk.max_pacing_rate",
        '"size"',
        '"time"',
    ),
    "a fetch of nothing": (
        '[[workload]]\nkind = "http"\n',
        ":1",
        "workload.http.size",
        "neither",
        'a "size"',
    ),
    "an upload in ranges": (
        '[[workload]]\nkind = "http"\nsize = "1 MB"\ndirection = "up"\nconnections = 4\n',
        ":5",
        "workload.http.connections",
        "4 and up",
        "an upload has no ranges",
    ),
    "a file of sizes that is not there": (
        'duration = "5 s"\n[[workload]]\nkind = "channels"\nchannels = 5\n'
        'size = { distribution = "file", file = "sizes.txt" }\n',
        ":5",
        "workload.channels.size.file",
        "which does not exist",
        "expected a file",
    ),
    "a distribution of sizes that there is not": (
        'duration = "5 s"\n[[workload]]\nkind = "channels"\nchannels = 5\n'
        'size = { distribution = "lognorm" }\n',
        ":5",
        "workload.channels.size.distribution",
        '"lognorm"',
        '"lognormal"',
    ),
    "sizes the wrong way round": (
        'duration = "5 s"\n[[workload]]\nkind = "channels"\nchannels = 5\n'
        'size = { distribution = "bounded-pareto", shape = 1.2, min = "5 kB", max = "1 kB" }\n',
        ":5",
        "workload.channels.size.min",
        '"5 kB"',
        'a "min" below "max"',
    ),
    "a command that wants a shell": (
        '[[workload]]\nkind = "exec"\ncommand = "ls -l"\n',
        ":3",
        "workload.exec.command",
        '"ls -l"',
        "a list of words",
    ),
    "a lab with nothing enabled": (
        WORK + "enabled = false\n",
        ":5",
        "workload.download.enabled",
        "false",
        "at least one workload with enabled = true",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_workload_is_told_where_what_and_what_would_do(name: str, lab_file: WriteLab) -> None:
    assert_told(WRONG[name], lab_file)
