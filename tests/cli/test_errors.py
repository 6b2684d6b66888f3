"""What bentpipe says of typical mistakes. All of it is in one file for a reviewer: errors.snapshot.txt.

After a change: `RENEW=1 .venv/bin/python -m pytest tests/cli/test_errors.py`. Then read the diff.
"""

import errno
import os
import shlex
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest

from invocation import called

SNAPSHOT = Path(__file__).with_name("errors.snapshot.txt")

LAB = """\
title    = "A plain lab"
duration = "2 s"
[path]
rtt  = "20 ms"
rate = "20 Mbit/s"
[[workload]]
name = "download"
kind = "bulk"
"""
SWEPT = '[sweep]\n"path.rtt" = ["20 ms", "40 ms"]\n'
VARIANT = '[[variant]]\nname = "BBR"\nset  = { "host.congestion_control" = "bbr" }\n'


@dataclass(frozen=True)
class Mistake:
    what: str
    command: str
    lab: str | None = None
    """The content of my.toml; null: the plain lab."""
    during: Callable[[], AbstractContextManager[object]] = nullcontext


def instead(old: str, new: str) -> str:
    assert old in LAB
    return LAB.replace(old, new)


def run(what: str, lab: str) -> Mistake:
    return Mistake(what, "run my.toml --engine sim", lab)


MISTAKES = [
    # --- the command line ---
    Mistake("an unknown command", "rnu my.toml"),
    Mistake("an unknown option", "run my.toml --engin sim"),
    Mistake("a file where the page wants a folder of runs", "web --no-open --runs my.toml"),
    Mistake("an option that is called otherwise here", "report runs/done --out page.html"),
    Mistake("an engine that does not exist", "run my.toml --engine netem"),
    Mistake("an option without its value", "run my.toml --engine sim --seed"),
    Mistake("an option's value that is not a number", "run my.toml --engine sim --repeat many"),
    Mistake("a lab without the command", "my.toml"),
    Mistake("help asked for as a command", "help"),
    Mistake("a key of the path as an option", "run my.toml --rtt 300ms"),
    Mistake("a quantity without its quotes", "calc --rate 16 Mbit/s --rtt 550ms"),
    Mistake("an argument too many", "run my.toml other.toml --engine sim"),
    Mistake("a lab that is not there", "run yours.toml --engine sim"),
    Mistake("a bundled lab's name, misspelled", "run effects-of-latancy --engine sim"),
    Mistake("a folder instead of a lab", "run runs --engine sim"),
    Mistake(
        "a file that may not be read",
        "run my.toml --engine sim",
        during=lambda: mock.patch(
            "pathlib.Path.read_bytes", side_effect=PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        ),
    ),
    Mistake("a file that is not text", "run picture.png --engine sim"),
    # --- the lab file ---
    run("TOML with a missing quote", instead('"20 ms"', '"20 ms')),
    run("a quantity without its quotes in the file", instead('"20 ms"', "20 ms")),
    run("a table that stands twice", LAB + "[path]\nloss = 0.01\n"),
    run("a number without a unit", instead('"20 ms"', "20")),
    run("a wrong unit", instead('"20 ms"', '"20 Mbit/s"')),
    run("an ambiguous unit", instead('"20 Mbit/s"', '"20M"')),
    run("an unknown key", instead("rate = ", "rtae = ")),
    run("a key that has another name here", instead("rate = ", "bandwidth = ")),
    run("a key of the path outside of it", LAB.replace("[path]\n", "")),
    run("a direction at the wrong place", instead('"20 Mbit/s"', '{ down = "20 Mbit/s" }')),
    run("a workload in one pair of brackets", instead("[[workload]]", "[workload]")),
    run("an outage in one pair of brackets", instead("[[work", 'outages = ["1 s", "1 s"]\n[[work')),
    run("a change of a variant outside of its set", LAB + '[[variant]]\nname = "BBR"\nhost.sack = false\n'),
    run("a sweep of a key without its quotes", LAB + '[sweep]\npath.rtt = ["20 ms", "40 ms"]\n'),
    run("an unknown kind of workload", instead('"bulk"', '"download"')),
    run("a lab without a workload", LAB.partition("[[workload]]")[0]),
    run("a probability above 1", instead("[[workload]]", "loss = 5\n[[workload]]")),
    run("a negative time", instead('"20 ms"', '"-20 ms"')),
    run("a value out of range", instead("[[workload]]", "mtu = 100\n[[workload]]")),
    run(
        "a count and a time of keystrokes",
        LAB + '[[workload]]\nname = "keys"\nkind = "interactive"\ncount = 10\ntime = "1 s"\n',
    ),
    run("two workloads of the same name", LAB + '[[workload]]\nname = "download"\nkind = "ping"\n'),
    run("an unknown congestion control", LAB + '[host]\ncongestion_control = "cubik"\n'),
    run(
        "an unknown queue discipline",
        instead("[[workload]]", 'queue = { discipline = "codle" }\n[[workload]]'),
    ),
    run("a trace file that is not there", instead('"20 Mbit/s"', '{ trace = "down.trace" }')),
    run("a sweep over a key that does not exist", LAB + '[sweep]\n"path.rrt" = ["20 ms", "40 ms"]\n'),
    run("a sweep over a workload that does not exist", LAB + '[sweep]\n"workload.upload.size" = ["1 MB"]\n'),
    run(
        "a variant that changes what is swept",
        LAB + SWEPT + VARIANT.replace("host.congestion_control", "path.rtt"),
    ),
    run("two variants of the same name", LAB + VARIANT + VARIANT),
    # --- changes and engines ---
    Mistake("--set without a value", "run my.toml --engine sim --set path.rtt"),
    Mistake("--set of a key that does not exist", "run my.toml --engine sim --set path.rt=20ms"),
    Mistake("--set of a key of the path without its table", "run my.toml --engine sim --set rtt=20ms"),
    Mistake("--set with a wrong unit", "run my.toml --engine sim --set path.rate=20ms"),
    Mistake("a variant that does not exist", "run my.toml --engine sim --variant BRR", LAB + VARIANT),
    run("a command in sim", LAB + '[[workload]]\nname = "mine"\nkind = "exec"\ncommand = ["true"]\n'),
    run("a congestion control that sim does not model", LAB + '[host]\ncongestion_control = "yeah"\n'),
    run("a sysctl in sim", LAB + '[host]\nsysctl = { "net.ipv4.tcp_mtu_probing" = "1" }\n'),
    Mistake(
        "a command that was not allowed",
        "run my.toml --engine live",
        LAB + '[[workload]]\nname = "mine"\nkind = "exec"\ncommand = ["true"]\n',
    ),
    Mistake(
        "a program that is not installed",
        "run my.toml --engine live",
        during=lambda: mock.patch.dict("os.environ", {"PATH": "/nowhere"}),
    ),
    Mistake("a capture at a host that is not there", "run my.toml --engine sim --pcap near"),
    Mistake("a time between samples without a unit", "run my.toml --engine sim --sample 10"),
    Mistake("a cluster whose address is none", "run my.toml --engine sim --cluster localhost"),
    # --- folders of runs ---
    Mistake(
        "another lab in a folder of runs",
        "run my.toml --engine sim --out runs/done",
        instead('"20 ms"', '"30 ms"'),
    ),
    Mistake("a folder that is not of runs", "report docs"),
    Mistake("a lab file instead of a folder of runs", "report my.toml"),
    Mistake("a folder of runs that is not there", "report runs/gone"),
    Mistake("explain of a folder that is not of runs", "explain docs"),
    Mistake("explain of a variant that was not run", "explain runs/done --variant BBR"),
    Mistake("explain of a point that was not run", "explain runs/swept --point path.rtt=60ms"),
    Mistake("a capture that is not there", "doctor gone.pcap"),
    Mistake("no name at all", 'doctor ""'),
    Mistake("a capture as a stream", "doctor -"),
    Mistake("a file that is no capture", "doctor my.toml"),
    Mistake("a command to watch without its dashes", "doctor --exec curl --version"),
    Mistake("a watch over a host and a port", "doctor --watch 127.0.0.1:80"),
    Mistake("an expectation of a figure that is not there", 'doctor --expect "goodput > 3"'),
    Mistake("a watch over a process that is not there", "doctor --watch pid:99999999"),
    Mistake("a watch over a port that cannot be", "doctor --watch port:70000"),
    Mistake("a watch without a unit of time", "doctor --watch --for 30"),
    Mistake("a watch that looks too often", "doctor --watch --every 1ms"),
    Mistake("samples of a run that it does not have", "doctor runs/done --every 20ms"),
    Mistake("a watch over two things", "doctor --watch port:80 port:443"),
    Mistake("a watch that makes transfers too", "doctor --watch --to 127.0.0.1"),
    Mistake("a command to watch that is not given", "doctor --exec"),
    Mistake("a command to watch that does not exist", "doctor --exec -- no-such-program"),
    Mistake("a server whose port is none", "doctor --to 127.0.0.1:99999"),
    Mistake("a time for what takes its own", "doctor --to 127.0.0.1 --for 10s"),
    Mistake("a cap of bytes without its unit", "doctor --to 127.0.0.1 --bytes 5"),
    Mistake("an expectation of the doctor that cannot be read", 'doctor --watch --expect "fast"'),
    Mistake("a damaged record", "report runs/damaged"),
    Mistake("nothing to compare", "compare runs/done"),
    Mistake("a baseline that does not exist", "compare runs/done runs/swept --baseline before"),
    Mistake("a figure that does not exist", "compare runs/done runs/done2 --metric workload.download.speed"),
    Mistake("a requirement that cannot be read", 'compare runs/done runs/done2 --require "goodput is good"'),
    Mistake(
        "a requirement that is broken",
        'compare runs/done runs/done2 --require "workload.download.goodput_mbit_s >= 100"',
    ),
    Mistake("SQL with a typing error", 'query runs/done "selct run from runs"'),
    Mistake("SQL that asks for a column that does not exist", 'query runs/done "select rum from runs"'),
    Mistake("SQL that would write", "query runs/done \"copy runs to 'x.csv'\""),
    Mistake("an export over files that are there", "export runs/done --csv docs --table runs"),
    Mistake("an import of a file of something else", "import picture.png --out runs/imported"),
    Mistake("an import of JSON that is not iperf3's", "import other.json --out runs/imported"),
    # --- tune ---
    Mistake("tune without a path", "tune"),
    Mistake("tune with a rate that has no unit", "tune --rate 20 --rtt 300ms"),
    Mistake("tune with two things to do", "tune --apply --undo"),
    Mistake("tune that is applied without a proof", "tune --rate 20Mbit --rtt 300ms --apply"),
    Mistake("tune of a change that does not exist", "tune --rate 20Mbit --rtt 300ms --with lowatt"),
    Mistake("tune with a decimal comma", "tune --rate 20,5Mbit/s --rtt 300ms"),
    Mistake("tune with a round trip of nothing", "tune --rate 20Mbit --rtt 0ms"),
    Mistake("tune with a name for a destination", "tune --rate 20Mbit --rtt 300ms --destination server"),
    Mistake("tune with a proof of nothing", "tune --rate 20Mbit --rtt 300ms --measure true"),
    Mistake(
        "tune of a change for the other end", "tune --rate 20Mbit --rtt 300ms --here receiver --with bbr"
    ),
    Mistake("tune from a file that is no report", "tune --from other.json"),
    # --- calc, new ---
    Mistake("calc without a rate", "calc --rtt 20ms"),
    Mistake("calc with a rate that has no unit", "calc --rate 20 --rtt 20ms"),
    Mistake("calc with a loss in percent", "calc --rate 20Mbit/s --rtt 20ms --loss 1%"),
    Mistake("calc of a control that it does not know", "calc --rate 20Mbit/s --rtt 20ms --cc vegas"),
    Mistake("new over a file that is there", "new my.toml --preset geo"),
    Mistake("new of a path that is not known", "new yours.toml --preset moon"),
    # --- the machine ---
    Mistake(
        "a disk that is full",
        "run my.toml --engine sim --out runs/full",
        during=lambda: mock.patch(
            "os.mkdir", side_effect=OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "runs/full")
        ),
    ),
    Mistake(
        "an interruption",
        "run my.toml --engine sim --out runs/interrupted",
        during=lambda: mock.patch("bentpipe.engines.sim.SimEngine.run", side_effect=KeyboardInterrupt),
    ),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a lab, runs, and files of other things."""
    folder = tmp_path_factory.mktemp("mistakes")
    (folder / "docs").mkdir()
    (folder / "docs" / "runs.csv").touch()
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\xff")
    (folder / "other.json").write_text('{"a": 1}')
    for name, lab in (("done", LAB), ("done2", LAB), ("swept", LAB + SWEPT), ("damaged", LAB)):
        (folder / "my.toml").write_text(lab)
        said = called(("run", "my.toml", "--engine", "sim", "--quiet", "--out", f"runs/{name}"), folder)
        assert said.status == 0, said.stderr
    (folder / "runs" / "damaged" / "runs.parquet").unlink()
    for record in (folder / "runs" / "damaged").glob("*/run.json"):
        record.write_text('{"lab": 7')
    return folder


def told(mistake: Mistake, folder: Path) -> str:
    """What a reviewer reads of it: the command, all that it says, and its status."""
    (folder / "my.toml").write_text(mistake.lab or LAB)
    with mistake.during():
        said = called(shlex.split(mistake.command), folder)
    lines = [line.rstrip() for line in (said.stdout + said.stderr).splitlines()]
    return "\n".join([f"# {mistake.what}", f"$ bentpipe {mistake.command}", *lines, f"[{said.status}]", ""])


def test_each_typical_mistake_is_told_as_in_the_snapshot(folder: Path) -> None:
    found = "\n".join(told(mistake, folder) for mistake in MISTAKES)
    if os.environ.get("RENEW"):
        SNAPSHOT.write_text(found, encoding="utf-8")
    assert found == SNAPSHOT.read_text(encoding="utf-8"), "see the head of this file"


def test_a_mistake_is_no_traceback_and_has_a_status_of_its_own(folder: Path) -> None:
    assert len({mistake.what for mistake in MISTAKES}) == len(MISTAKES) >= 40
    snapshot = SNAPSHOT.read_text(encoding="utf-8")
    assert "Traceback" not in snapshot
    assert "[0]" not in snapshot
    assert str(folder) not in snapshot
    assert "/tmp" not in snapshot
