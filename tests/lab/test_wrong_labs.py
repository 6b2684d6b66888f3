"""Wrong labs of every kind: each gives one message with place, key, what was found and what would do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bentpipe.lab import Lab, LabError

from .conftest import WORK

WriteLab = Callable[[str], Path]

# The lab, the place behind the file's name, the key, what was found, what would do.
WRONG: dict[str, tuple[str, str, str, str, str]] = {
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
        '[path]\nrate = "16 Mbps"\n' + WORK,
        ":2",
        "path.rate",
        '"Mbps" is not known',
        '"Mbit/s"?',
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
        "a key that is not known",
        'did you mean "title"?',
    ),
    "an unknown key": ('[path]\nrrt = "5 ms"\n' + WORK, ":2", "path.rrt", "not known", 'did you mean "rtt"?'),
    "an unknown key of a workload": (
        WORK + "steams = 2\n",
        ":5",
        "workload.download.steams",
        "not known",
        'did you mean "streams"?',
    ),
    "an unknown key of an inline table": (
        '[path]\njitter = { spred = "5 ms" }\n' + WORK,
        ":2",
        "path.jitter.spred",
        "not known",
        'did you mean "spread"?',
    ),
    "a key of another discipline": (
        '[path]\nrate = "1 Mbit/s"\nqueue = { discipline = "fifo", target = "5 ms" }\n' + WORK,
        ":3",
        "path.queue.target",
        "not known",
        "Keys here: discipline, limit",
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
    "a command at a host that is not there": (
        WORK + '[[workload]]\nkind = "exec"\ncommand = ["true"]\nhost = "near"\n',
        ":8",
        "workload.exec.host",
        '"near", which this lab does not have',
        "a [near] table",
    ),
    "too many streams": (WORK + "streams = 129\n", ":5", "workload.download.streams", "129", "at most 128"),
    "pings too close": (
        '[[workload]]\nkind = "ping"\ninterval = "1 ms"\n',
        ":3",
        "workload.ping.interval",
        '"1 ms"',
        "at least 2 ms",
    ),
    "a preset that is not there": (
        '[path]\npreset = "goe"\n' + WORK,
        ":2",
        "path.preset",
        '"goe"',
        'did you mean "geo"?',
    ),
    "an rtt and a delay": (
        '[path]\nrtt = "2 ms"\ndelay = "1 ms"\n' + WORK,
        ":3",
        "path.delay",
        "both",
        'one of "rtt"',
    ),
    "a queue in BDP without a rate": (
        '[path]\nqueue = "1 bdp"\n' + WORK,
        ":2",
        "path.queue",
        "without a rate",
        "a rate",
    ),
    "a burst below the mtu": (
        '[path]\nrate = { rate = "1 Mbit/s", burst = "1 kB" }\n' + WORK,
        ":2",
        "path.rate.burst",
        '"1 kB"',
        '"1500 B"',
    ),
    "a peak without a burst": (
        '[path]\nrate = { rate = "1 Mbit/s", peak = "2 Mbit/s" }\n' + WORK,
        ":2",
        "path.rate.peak",
        "2 Mbit/s",
        '"burst"',
    ),
    "a peak below the rate": (
        '[path]\nrate = { rate = "2 Mbit/s", burst = "9 kB", peak = "1 Mbit/s" }\n' + WORK,
        ":2",
        "path.rate.peak",
        '"1 Mbit/s"',
        'at least the rate, "2 Mbit/s"',
    ),
    "a table of a rate without one": (
        '[path]\nrate = { burst = "9 kB" }\n' + WORK,
        ":2",
        "path.rate.rate",
        "nothing",
        "no default",
    ),
    "steps that go back": (
        '[path]\nrate = { steps = [["5 s", "1 Mbit/s"], ["2 s", "2 Mbit/s"]] }\n' + WORK,
        ":2",
        "path.rate.steps",
        "a step at 2 s after one at 5 s",
        "in the order of their times",
    ),
    "an unknown discipline": (
        '[path]\nrate = "1 Mbit/s"\nqueue = { discipline = "fqcodel" }\n' + WORK,
        ":3",
        "path.queue.discipline",
        '"fqcodel"',
        'did you mean "fq_codel"?',
    ),
    "a loss model without a key": (
        '[path]\nloss = { model = "gilbert-elliott", p = 0.1 }\n' + WORK,
        ":2",
        "path.loss.r",
        "nothing",
        "no default",
    ),
    "an unknown loss model": (
        '[path]\nloss = { model = "gilbert", p = 0.1 }\n' + WORK,
        ":2",
        "path.loss.model",
        '"gilbert"',
        '"gilbert-elliott"?',
    ),
    "outages that overlap": (
        '[path]\noutages = [["1 s", "5 s"], ["3 s", "1 s"]]\n' + WORK,
        ":2",
        "path.outages",
        "one at 3 s while the one from 1 s lasts to 6 s",
        "do not overlap",
    ),
    "an outage without a length": (
        '[path]\noutages = [\n  ["1 s", "1 s"],\n  ["3 s"],\n]\n' + WORK,
        ":4",
        "path.outages.1",
        '["3 s"]',
        "a start and a length",
    ),
    "a packet too small for IPv6": (
        "[path]\nmtu = 600\n[host]\nip = 6\n" + WORK,
        ":2",
        "path.mtu",
        "600",
        "1280 or more",
    ),
    "a missing trace": (
        '[path]\nrate = { trace = "no.trace" }\n' + WORK,
        ":2",
        "path.rate.trace",
        '"no.trace", a file that is not',
        "a file",
    ),
    "a missing loss trace": (
        '[path.up]\nloss = { model = "trace", file = "no" }\n' + WORK,
        ":2",
        "path.up.loss.file",
        "not there",
        "a file",
    ),
    "a wrong type": ('[path]\nmtu = "1500"\n' + WORK, ":2", "path.mtu", '"1500"', "a whole number"),
    "a value for a table": ("path = 3\n" + WORK, ":1", "path", "3", "a table"),
    "a text for a switch": ('[host]\nsack = "on"\n' + WORK, ":2", "host.sack", '"on"', "true or false"),
    "an unknown congestion control": (
        '[host]\ncongestion_control = "cubik"\n' + WORK,
        ":2",
        "host.congestion_control",
        '"cubik"',
        '"cubic"?',
    ),
    "buffers out of order": (
        "[server]\ntcp_rmem = [9000, 8000, 7000]\n" + WORK,
        ":2",
        "server.tcp_rmem",
        "[9000, 8000, 7000]",
        "rising order",
    ),
    "buffers with units": (
        '[host]\ntcp_wmem = ["4 kB", "16 kB", "4 MB"]\n' + WORK,
        ":2",
        "host.tcp_wmem",
        '"4 MB"',
        "whole numbers of bytes",
    ),
    "a sysctl that has a key": (
        '[host.sysctl]\n"net.ipv4.tcp_mtu_probing" = "1"\n"net.ipv4.tcp_sack" = "1"\n' + WORK,
        ":3",
        "host.sysctl.net.ipv4.tcp_sack",
        "its own key",
        '"sack"',
    ),
    "a sysctl beyond the network": (
        '[host]\nsysctl = { "kernel.panic" = "1" }\n' + WORK,
        ":2",
        "kernel.panic",
        "the setting",
        "network namespace",
    ),
    "a sysctl of the whole machine": (
        '[host]\nsysctl = { "net.core.rmem_max" = "1" }\n' + WORK,
        ":2",
        "net.core.rmem_max",
        "the setting",
        "tcp_rmem",
    ),
    "a sysctl that leaves its folder": (
        '[host]\nsysctl = { "net/../kernel/panic" = "1" }\n' + WORK,
        ":2",
        "host.sysctl",
        "the setting",
        "network namespace",
    ),
    "two IP versions": (
        "[client]\nip = 6\n" + WORK,
        ":2",
        "client.ip",
        "client 6 and server 4",
        "the same IP version",
    ),
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
        "both",
        'one of "size" and "time"',
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
        "not there",
        "a file would do",
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
    "published figures that are not there": (
        'published = "effects-of-latancy"\n' + WORK,
        ":1",
        "published",
        "no published figures",
        '"effects-of-latency"?',
    ),
    "a sweep of nothing": (
        WORK + '[sweep]\n"path.rtt" = []\n',
        ":6",
        "path.rtt",
        "an empty list",
        "at least one value",
    ),
    "an empty sweep": (WORK + "[sweep]\n", ":5", "sweep", "nothing in it", '"path.rtt" = ["11 ms", "30 ms"]'),
    "a sweep of one value": (
        WORK + '[sweep]\n"path.rtt" = "1 ms"\n',
        ":6",
        "path.rtt",
        '"1 ms"',
        "a list of values",
    ),
    "a sweep over a key that is not there": (
        WORK + '[sweep]\n"path.rrt" = ["1 ms"]\n',
        ":6",
        "path.rrt",
        "which is not known",
        'did you mean "path.rtt"?',
    ),
    "a sweep over a workload that is not there": (
        WORK + '[sweep]\n"workload.downlaod.size" = ["1 MB"]\n',
        ":6",
        "workload.downlaod.size",
        'no workload "downlaod"',
        'did you mean "download"?',
    ),
    "a sweep over a key of another kind": (
        '[[workload]]\nkind = "ping"\n[sweep]\n"workload.ping.streams" = [1]\n',
        ":4",
        "workload.ping.streams",
        "which is not known",
        "Keys in workload.ping",
    ),
    "a sweep without quotes": (
        WORK + '[sweep]\npath.rtt = ["1 ms"]\n',
        ":6",
        "sweep.path",
        "a table path",
        "in quotes",
    ),
    "a swept value twice": (
        WORK + '[sweep]\n"path.rtt" = ["1 ms",\n"1 ms"]\n',
        ":7",
        "path.rtt",
        '"1 ms" twice',
        "once",
    ),
    "a swept value that is wrong": (
        WORK + '[sweep]\n"path.rtt" = [\n  "1 ms",\n  5,\n]\n',
        ":8",
        "path.rtt",
        "5, a number without a unit",
        '"550 ms"',
    ),
    "swept keys that overlap": (
        WORK + '[sweep]\n"path.rate" = ["1 Mbit/s"]\n"path.rate.burst" = ["9 kB"]\n',
        ":7",
        "path.rate.burst",
        "overlap",
        "one of them",
    ),
    "a sweep of repeats": (
        WORK + '[sweep]\n"repeat" = [1, 2]\n',
        ":6",
        "repeat",
        "repeat in a sweep",
        "not points",
    ),
    "a grid beyond measure": (
        WORK
        + "[sweep]\n"
        + "".join(f'"{key}" = {list(range(1, 101))}\n' for key in ("seed", "host.initcwnd", "host.initrwnd")),
        ":5",
        "sweep",
        "1000000 points",
        "at most 100000",
    ),
    "a named axis without a value": (
        WORK + "[sweep.orbit]\n",
        ":5",
        "sweep.orbit",
        "nothing in it",
        "a value would do, such as GEO",
    ),
    "an unknown key in a named axis": (
        WORK + '[sweep.orbit]\nGEO = { "path.rtt" = "1 ms" }\nLEO = { "path.rrt" = "1 ms" }\n',
        ":7",
        "path.rrt",
        "which is not known",
        'did you mean "path.rtt"?',
    ),
    "a wrong value in a named axis": (
        WORK + '[sweep.orbit.GEO]\n"path.rate" = "1 Mbit/s"\n"path.rtt" = 5\n',
        ":7",
        "path.rtt",
        "5, a number without a unit",
        '"550 ms"',
    ),
    "a named axis whose values are no changes": (
        WORK + '[sweep]\npth.rtt = ["1 ms"]\n',
        ":6",
        "sweep.pth.rtt",
        '["1 ms"]',
        "a set of changes",
    ),
    "a named axis with a name of its own kind": (
        WORK + '[sweep."the orbit"]\nGEO = {}\n',
        ":5",
        "sweep.the orbit",
        'an axis called "the orbit"',
        "64 letters",
    ),
    "a table for a list": (
        WORK + '[sweep]\n"path.rtt" = { GEO = "1 ms" }\n',
        ":6",
        "path.rtt",
        "a table with GEO",
        "a list of values",
    ),
    "axes that change the same": (
        WORK + '[sweep]\n"path.rate.burst" = ["9 kB"]\norbit.GEO = { "path.rate" = "1 Mbit/s" }\n',
        ":7",
        "path.rate",
        '"path.rate" beside "path.rate.burst", which overlap',
        "one of them",
    ),
    "repeats in a named axis": (
        WORK + "[sweep.effort]\nmuch = { repeat = 9 }\n",
        ":6",
        "repeat",
        "repeat among changes",
        "not points",
    ),
    "a variant over what a named axis changes": (
        WORK
        + '[sweep.orbit]\nGEO = { "path.rtt" = "1 ms" }\nnone = {}\n'
        + '[[variant]]\nname = "a"\nset = { "path.rtt" = "2 ms" }\n',
        ":10",
        "path.rtt",
        "which the axis orbit changes",
        "only = { orbit = [..] }",
    ),
    "a variant crossed with an axis that is not there": (
        WORK
        + "[sweep.orbit]\nGEO = {}\n"
        + '[[variant]]\nname = "a"\nset = { "host.sack" = false }\nonly = { orbits = ["GEO"] }\n',
        ":10",
        "variant.0.only.orbits",
        "which is not swept",
        'did you mean "orbit"?',
    ),
    "a variant crossed with a value that is not there": (
        WORK
        + "[sweep.orbit]\nGEO = {}\n"
        + '[[variant]]\nname = "a"\nset = { "host.sack" = false }\nonly = { orbit = ["GOE"] }\n',
        ":10",
        "variant.0.only.orbit",
        '"GOE", which is no value of orbit',
        'did you mean "GEO"?',
    ),
    "a lab with nothing enabled": (
        WORK + "enabled = false\n",
        ":5",
        "workload.download.enabled",
        "false",
        "at least one workload with enabled = true",
    ),
    "a congestion control of a transfer that is not known": (
        WORK + 'congestion_control = "cubik"\n',
        ":5",
        "workload.download.congestion_control",
        '"cubik"',
        '"cubic"?',
    ),
    "a variant without changes": (
        WORK + '[[variant]]\nname = "a"\n',
        ":5",
        "variant.0.set",
        "none",
        "a name and its changes",
    ),
    "a variant without a name": (
        WORK + '[[variant]]\nset = { "host.sack" = false }\n',
        ":5",
        "variant.0.name",
        "none",
        "a name",
    ),
    "a variant given twice": (
        WORK + '[[variant]]\nname = "a"\nset = { "host.sack" = false }\n' * 2,
        ":9",
        "variant.1.name",
        'a second variant "a"',
        "another name",
    ),
    "a variant called as the plain lab": (
        WORK + '[[variant]]\nname = "as is"\nset = { "host.sack" = false }\n',
        ":6",
        "variant.0.name",
        '"as is"',
        "plain lab",
    ),
    "a variant over a key that is not there": (
        WORK + '[[variant]]\nname = "a"\nset = { "host.sck" = false }\n',
        ":7",
        "host.sck",
        "not known",
        '"host.sack"?',
    ),
    "a variant over a swept key": (
        WORK + '[sweep]\n"path.rtt" = ["1 ms"]\n[[variant]]\nname = "a"\nset = { "path.rtt" = "2 ms" }\n',
        ":9",
        "path.rtt",
        "which is swept",
        "not swept",
    ),
    "a variant with a wrong value": (
        WORK + '[[variant]]\nname = "a"\n[variant.set]\n"host.sack" = 3\n',
        ":8",
        "host.sack",
        "3",
        "true or false",
    ),
    "an unknown key of a variant": (
        WORK + '[[variant]]\nname = "a"\nsets = { "host.sack" = false }\n',
        ":7",
        "variant.0.sets",
        "not known",
        '"set"?',
    ),
    "what is not TOML": ('[path\nrtt = "5 ms"\n', ":1:6", "", "what is not TOML", "toml.io"),
    "a value that is missing": ("title =\n", ":1:8", "", "what is not TOML: invalid value", "toml.io"),
    "a text that does not end": ('title = """\nx\n', ":2", "", "what is not TOML", "toml.io"),
    "a key written twice": ("seed = 1\nseed = 2\n", ":2:", "", "what is not TOML", "toml.io"),
    "a number beyond measure": (f"seed = {'9' * 5000}\n", ":1", "", "what is not TOML", "toml.io"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_lab_is_told_where_what_and_what_would_do(name: str, lab_file: WriteLab) -> None:
    text, place, key, found, remedy = WRONG[name]
    file = lab_file(text)
    with pytest.raises(LabError) as raised:
        Lab.load(file)
    error = raised.value
    assert error.where.startswith(f"{file}{place}")
    assert key in error.key
    assert found in error.found
    assert remedy in error.remedy
    assert (
        str(error)
        == f"{error.where}: {error.key + ': ' if error.key else ''}found {error.found}; {error.remedy}"
    )
    assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("option", "key", "found", "remedy"),
    [
        ("path.rrt=5", "path.rrt", "which is not known", 'did you mean "path.rtt"?'),
        ("path.rtt", "", '"path.rtt"', '--set path.rtt="30 ms"'),
        ("=5", "", '"=5"', "a key and a value"),
        ("path.rtt=5", "path.rtt", "5, a number without a unit", '"550 ms"'),
        ("path.down.loss=2", "path.down.loss", "2, which is out of range", "from 0 to 1"),
        ("path.rtt.x=5", "path.rtt.x", "the key", '"path.rtt" itself'),
        ("repeat=0", "repeat", "0, which is out of range", "at least 1"),
        (
            "workload.ping.count=5",
            "workload.ping.count",
            'no workload "ping"',
            "Workloads of this lab: download",
        ),
        ("workload.download.name=x", "workload.download.name", "the key", "any key but the name"),
        ("workload.download=x", "workload.download", "the key", '"workload.download.start"'),
        ("sweep.path.rtt=[]", "sweep.path.rtt", "the key", "it is pinned"),
        ("variant=x", "variant", "the key", "a key of the lab itself"),
    ],
)
def test_a_wrong_option_is_told_as_the_user_wrote_it(
    option: str, key: str, found: str, remedy: str, lab_file: WriteLab
) -> None:
    with pytest.raises(LabError) as raised:
        Lab.load(lab_file(WORK), set=[option])
    error = raised.value
    assert error.where == f"--set {option}"
    assert (error.key, found in error.found, remedy in error.remedy) == (key, True, True), str(error)


AXIS = (
    WORK
    + """[sweep.orbit]
GEO = { "path.rtt" = "550 ms" }
LEO = { "path.rtt" = "40 ms" }
[[variant]]
name = "many"
set = { "workload.download.streams" = 4 }
only = { orbit = ["GEO"] }
"""
)


@pytest.mark.parametrize(
    ("option", "key", "found", "remedy"),
    [
        ("orbit=GOE", "orbit", '"GOE", which is no value of orbit', 'did you mean "GEO"?'),
        ("orbit=LEO", "", "no point that is left", 'many is crossed with orbit = "GEO" only'),
        ("path=5", "path", "a key above a swept one", '"path.rtt"'),
        (
            "workload.download.enabled=false",
            "workload.download.enabled",
            "false",
            "at least one workload",
        ),
    ],
)
def test_a_wrong_option_on_a_named_axis_is_told_as_the_user_wrote_it(
    option: str, key: str, found: str, remedy: str, lab_file: WriteLab
) -> None:
    with pytest.raises(LabError) as raised:
        Lab.load(lab_file(AXIS), set=[option], variants=["many"])
    error = raised.value
    assert error.where == f"--set {option}"
    assert (error.key, found in error.found, remedy in error.remedy) == (key, True, True), str(error)


def test_a_wrong_seed_or_repeat_names_its_own_option(lab_file: WriteLab) -> None:
    with pytest.raises(LabError, match="--seed -1: seed: found -1"):
        Lab.load(lab_file(WORK), seed=-1)
    with pytest.raises(LabError, match="--repeat 0: repeat: found 0"):
        Lab.load(lab_file(WORK), repeat=0)


def test_a_variant_that_is_not_there_is_told_the_ones_that_are(lab_file: WriteLab) -> None:
    file = lab_file(WORK + '[[variant]]\nname = "no sack"\nset = { "host.sack" = false }\n')
    with pytest.raises(LabError, match=r'did you mean "no sack".*as is, no sack'):
        Lab.load(file, variants=["no-sack"])


def test_a_lab_that_is_not_there_is_told_the_nearest_shipped_one() -> None:
    with pytest.raises(LabError, match='did you mean "effects-of-latency"'):
        Lab.load("effect-of-latency")


def test_a_folder_is_no_lab(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="found a folder; a lab file would do"):
        Lab.load(tmp_path)


def test_a_byte_that_is_no_text_is_told_its_line(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_bytes(b'title = "x"\nseed = \xff\n')
    with pytest.raises(LabError) as raised:
        Lab.load(file)
    assert (
        str(raised.value)
        == f"{file}:2: found byte 0xff, which is not UTF-8; a lab file (TOML, in UTF-8) would do"
    )


def test_nested_beyond_measure_is_a_wrong_lab_and_no_crash(lab_file: WriteLab) -> None:
    with pytest.raises(LabError, match=r"nested beyond measure|not TOML"):
        Lab.load(lab_file("x = " + "[" * 100_000))


@pytest.mark.parametrize(
    ("text", "place", "found", "remedy"),
    [
        ("0\n5\n4\n", ":3", "4 after 5", "never go back"),
        ("0\n5 ms\n", ":2", '"5 ms"', "whole milliseconds"),
        ("-1\n", ":1", '"-1"', "whole milliseconds"),
        ("0\n0\n", ":2", "a trace that ends at 0 ms", "above 0"),
        ("", "", "an empty trace", "at least one line"),
    ],
)
def test_a_wrong_line_of_a_rate_trace_is_named(
    text: str, place: str, found: str, remedy: str, lab_file: WriteLab
) -> None:
    file = lab_file('[path]\nrate = { trace = "link.trace" }\n' + WORK)
    trace = file.with_name("link.trace")
    trace.write_text(text)
    with pytest.raises(LabError) as raised:
        Lab.load(file)
    assert raised.value.where == f"{trace}{place}"
    assert found in raised.value.found
    assert remedy in raised.value.remedy


def test_a_wrong_mark_of_a_loss_trace_is_named(lab_file: WriteLab) -> None:
    file = lab_file('[path]\nloss = { model = "trace", file = "loss.trace" }\n' + WORK)
    file.with_name("loss.trace").write_text("0010 # a burst\n01x0\n")
    with pytest.raises(LabError, match=r'loss.trace:2: found "x"; 0 \(arrives\) and 1 \(lost\) would do'):
        Lab.load(file)


def test_a_device_is_no_trace(lab_file: WriteLab) -> None:
    with pytest.raises(LabError, match="not a regular file"):
        Lab.load(lab_file('[path]\nrate = { trace = "/dev/zero" }\n' + WORK))
