"""What happens on a path only after the run has ended is named before it begins."""

from pathlib import Path

import pytest

from bentpipe.lab import unreached
from bentpipe.lab.load import Lab
from invocation import called

LAB = """
{head}
[path]
rtt = "40 ms"
rate = "10 Mbit/s"
{path}
[[workload]]
kind = "bulk"
{work}
"""
HANDOVER = 'handover = {{ every = "{every}", step = "1 ms", outage = "1 ms" }}'


def said(folder: Path, path: str, head: str = 'duration = "10 s"', work: str = "") -> str | None:
    (file := folder / "lab.toml").write_text(LAB.format(head=head, path=path, work=work))
    return unreached.warning(Lab.load(file).cells())


@pytest.mark.parametrize(
    ("path", "words"),
    [
        (HANDOVER.format(every="15 s"), "path.handover: the first handover is at 15 s, the run ends at 10 s"),
        ('outages = [["10 s", "1 s"]]', "path.outages: the first outage is at 10 s, the run ends at 10 s"),
        (
            '[path.up.rate]\nsteps = [["0 s", "9 Mbit/s"], ["30 s", "8 Mbit/s"]]',
            "path.up.rate.steps: the first change of rate is at 30 s, the run ends at 10 s",
        ),
    ],
)
def test_what_comes_after_the_end_is_named_with_its_time_and_the_end(
    tmp_path: Path, path: str, words: str
) -> None:
    found = said(tmp_path, path)
    assert found is not None
    assert found.startswith(words)


@pytest.mark.parametrize(
    "path",
    [
        "",
        HANDOVER.format(every="9 s"),
        'outages = [["9 s", "1 s"], ["20 s", "1 s"]]',
        '[path.down.rate]\nsteps = [["0 s", "9 Mbit/s"], ["5 s", "8 Mbit/s"]]',
    ],
)
def test_of_what_comes_before_the_end_nothing_is_said(tmp_path: Path, path: str) -> None:
    assert said(tmp_path, path) is None


@pytest.mark.parametrize(
    ("head", "work", "end"),
    [
        ('until = "done"', 'time = "5 s"', "5 s"),
        ('until = "done"\nduration = "8 s"', 'size = "1 GB"', "8 s"),
        ('until = "done"\nduration = "60 s"', 'time = "5 s"', "5 s"),
    ],
)
def test_a_run_until_its_work_is_done_ends_as_far_as_is_known(
    tmp_path: Path, head: str, work: str, end: str
) -> None:
    found = said(tmp_path, HANDOVER.format(every="15 s"), head, work)
    assert found is not None
    assert f"the run ends at {end}" in found


def test_where_the_end_is_not_known_before_nothing_is_said(tmp_path: Path) -> None:
    assert said(tmp_path, HANDOVER.format(every="15 s"), 'until = "done"', 'size = "1 MB"') is None


def test_it_is_said_once_on_stderr_before_the_first_run(tmp_path: Path) -> None:
    lab = tmp_path / "short.toml"
    head = 'duration = "1 s"\nrepeat = 2'
    lab.write_text(LAB.format(head=head, path=HANDOVER.format(every="15 s"), work=""))
    done = called(["run", str(lab), "--engine", "sim", "--out", str(tmp_path / "o")], tmp_path)
    lines = [line for line in done.stderr.splitlines() if "first handover" in line]
    assert done.status == 0
    assert lines == [done.stderr.splitlines()[0]]
