"""Wrong paths: queues, rates, losses, outages and the traces that they name."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from bentpipe.errors import LabError
from bentpipe.lab.load import Lab

from .conftest import WORK
from .wrong import WriteLab, Wrong, assert_told

WRONG: Mapping[str, Wrong] = {
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
        'both "rtt" and "delay"',
        'only one: "rtt"',
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
        '"no.trace", which does not exist',
        "a file",
    ),
    "a missing loss trace": (
        '[path.up]\nloss = { model = "trace", file = "no" }\n' + WORK,
        ":2",
        "path.up.loss.file",
        "which does not exist",
        "a file",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_path_is_told_where_what_and_what_would_do(name: str, lab_file: WriteLab) -> None:
    assert_told(WRONG[name], lab_file)


@pytest.mark.parametrize(
    ("text", "place", "found", "remedy"),
    [
        ("0\n5\n4\n", ":3", "4 after 5", "never go back"),
        ("0\n5 ms\n", ":2", "text that is not shown", "whole milliseconds"),
        ("0\n1.5\n", ":2", '"1.5"', "whole milliseconds"),
        ("0\n\n1\n", ":2", "an empty line", "whole milliseconds"),
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
    with pytest.raises(
        LabError, match=r"loss.trace:2: found another character; expected 0 \(arrives\) and 1 \(lost\)"
    ):
        Lab.load(file)


@pytest.mark.parametrize(
    "lab",
    [
        f'[path]\nrate = {{ trace = "secret" }}\n{WORK}',
        f'[path]\nloss = {{ model = "trace", file = "secret" }}\n{WORK}',
        'duration = "5 s"\n[[workload]]\nkind = "channels"\nchannels = 5\n'
        'size = { distribution = "file", file = "secret" }\n',
    ],
    ids=["rate", "loss", "sizes"],
)
@pytest.mark.parametrize(
    "secret", ["xyzzy:$6$salt$hash:19000:0:99999:7:::", "-----BEGIN xyzzy KEY-----", "1" * 41 + "x", "9" * 41]
)
def test_a_file_that_is_no_trace_is_not_quoted(lab: str, secret: str, lab_file: WriteLab) -> None:
    file = lab_file(lab)
    file.with_name("secret").write_text(f"{secret}\n")
    with pytest.raises(LabError) as raised:
        Lab.load(file)
    assert raised.value.where == f"{file.with_name('secret')}:1"
    message = str(raised.value).replace(raised.value.where, "")
    assert not any(part in message for part in ("xyzzy", "salt", "11111", "99999"))


def test_a_device_is_no_trace(lab_file: WriteLab) -> None:
    with pytest.raises(LabError, match="not a regular file"):
        Lab.load(lab_file('[path]\nrate = { trace = "/dev/zero" }\n' + WORK))
