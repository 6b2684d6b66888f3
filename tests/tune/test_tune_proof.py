"""How a change is proved, and what is on the disk meanwhile."""

import errno
import itertools
import math
import os
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bentpipe.errors import TuneError
from bentpipe.tune import journal
from bentpipe.tune.applying import Outcome, refusal
from bentpipe.tune.drop_in import drop_in_text, later
from bentpipe.tune.files import Places, only_one, write_whole
from bentpipe.tune.journal import Entry, Journal
from bentpipe.tune.machine import Machine
from bentpipe.tune.measuring import Figure, OfCommand, OfIperf3
from bentpipe.tune.proving import Which, prove
from bentpipe.tune.words import outcome_lines, proof_words, status_lines

ENTRIES = [Entry("sysctl", "net.ipv4.tcp_sack", "0", "1"), Entry("route", "-4 default", "a", "b")]


class Measured:
    """A path whose figure is 10, times `gain` with the new values, and noise."""

    words = "measured"

    def __init__(self, gain: float, noise: float, *, less_is_better: bool = False) -> None:
        self.gain, self.noise, self.less = gain, noise, less_is_better
        self.random = random.Random(1)
        self.set: list[Which] = []

    def switch(self, which: Which) -> None:
        self.set.append(which)

    def __call__(self) -> Figure:
        value = 10 * math.exp(self.random.gauss(0, self.noise))
        return Figure(value * (self.gain if self.set[-1] == "after" else 1), "", self.less)


def proved(of: Measured, most: int = 12) -> tuple[str, int]:
    proof = prove(of, of.switch, most, lambda *_pair: None)
    return proof.verdict, len(proof.pairs)


def test_a_large_difference_takes_three_pairs_in_alternating_order() -> None:
    measured = Measured(5.0, 0.02)
    assert proved(measured) == ("better", 3)
    assert measured.set == ["before", "after", "after", "before", "before", "after"]


def test_a_worse_change_and_one_without_effect_are_told_apart() -> None:
    assert proved(Measured(0.5, 0.02)) == ("worse", 3)
    assert proved(Measured(0.5, 0.02, less_is_better=True)) == ("better", 3)
    assert proved(Measured(1.0, 0.2)) == ("not shown", 12)


def test_looking_often_finds_what_is_not_there_in_a_twentieth_at_most() -> None:
    found = 0
    for seed in range(200):
        measured = Measured(1.0, 0.1)
        measured.random = random.Random(seed)
        found += proved(measured, 5)[0] != "not shown"
    assert found <= 200 * 0.05 + 3


def test_a_command_that_prints_a_number_has_measured_and_another_is_timed() -> None:
    assert OfCommand("echo some words; echo 42.5")() == Figure(42.5, "", less_is_better=False)
    timed = OfCommand("echo words")()
    assert (timed.unit, timed.less_is_better) == ("s", True)


@pytest.mark.parametrize(
    "command", ["exit 3", "no-such-program-here", "echo 0", "echo -1", "echo nan", "echo inf", "echo 1e308"]
)
def test_a_measurement_that_fails_is_an_error_with_its_command(command: str) -> None:
    with pytest.raises(TuneError, match=f"^{command}: "):
        OfCommand(command)()


@pytest.mark.parametrize(
    "said",
    [
        '{"end": {}, "error": "unable to connect to server: Connection refused"}',
        '{"end": {"sum_received": {"bits_per_second": 1e6}}, "error": "unable to connect: refused"}',
    ],
)
def test_an_iperf3_server_that_does_not_answer_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    (tmp_path / "iperf3").write_text(f"#!/bin/sh\necho '{said}'\n")
    (tmp_path / "iperf3").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(TuneError, match="no iperf3 server answers: unable"):
        OfIperf3("192.0.2.1", receives=True)()


def test_no_difference_gives_no_advice_of_pairs() -> None:
    measured = Measured(1.0, 0.0)
    words = proof_words(prove(measured, measured.switch, 3, lambda *_pair: None))
    assert words == "Not shown to be better: on average no difference was measured (3 pairs)."


def test_a_command_that_measures_only_sometimes_is_an_error() -> None:
    figures = itertools.cycle([Figure(1.0, "", less_is_better=False), Figure(1.0, "s", less_is_better=True)])

    class Changing(Measured):
        def __call__(self) -> Figure:
            return next(figures)

    measured = Changing(1.0, 0.0)
    with pytest.raises(TuneError, match="another time"):
        prove(measured, measured.switch, 3, lambda *_pair: None)


@pytest.fixture
def places(tmp_path: Path) -> Places:
    (tmp_path / "etc").mkdir()
    return Places(tmp_path)


def test_a_journal_is_read_as_it_was_written(places: Places) -> None:
    places.folder.mkdir(parents=True)
    assert journal.read(places) is None
    written = journal.begun(places, ENTRIES, why="a path", until_reboot=False)
    assert written.made_folders == [str(places.drop_in.parent)]
    written.with_state("applied", {"times": 2}).write(places)
    assert journal.read(places) == written.with_state("applied", {"times": 2})


@pytest.mark.parametrize(
    "damage", [lambda text: text[:-9], lambda _text: "{}", lambda _text: '{"version": 1}']
)
def test_a_damaged_journal_is_an_error_and_is_left(places: Places, damage: Callable[[str], str]) -> None:
    places.folder.mkdir(parents=True)
    journal.begun(places, ENTRIES, why="a path", until_reboot=False).write(places)
    places.journal.write_text(damage(places.journal.read_text()))
    with pytest.raises(TuneError, match="damaged"):
        journal.read(places)
    assert places.journal.exists()


def test_the_status_says_what_a_reboot_took(places: Places) -> None:
    begun = journal.begun(places, ENTRIES, why="a path", until_reboot=False)
    applied = begun.with_state("applied", None)
    assert not any("started anew" in line for line in status_lines(applied, places, 100))
    assert any(
        "routes and queues" in line for line in status_lines(replace(applied, boot="another"), places, 100)
    )


def test_a_read_only_proc_is_refused_with_the_reason(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Machine, "is_read_only", True)
    why = refusal(Machine(), places, until_reboot=False)
    assert why is not None
    assert "/proc/sys is read-only" in why


def test_only_one_process_works_at_a_time_and_leaves_no_folder(places: Places) -> None:
    with only_one(places):
        with pytest.raises(TuneError, match="another bentpipe tune"), only_one(places):
            pass
        assert places.folder.is_dir()
    assert not places.folder.exists()
    with only_one(places):
        pass


def test_a_folder_that_cannot_be_made_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Path] = []

    def mkdir(folder: Path, **_more: bool) -> None:
        assert folder not in made, "it tried again"
        made.append(folder)
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))

    monkeypatch.setattr(Path, "mkdir", mkdir)
    with pytest.raises(TuneError, match=r"^/proc/x/var/lib/bentpipe-tune: cannot make this folder: No such"):
        only_one(Places(Path("/proc/x"))).__enter__()


def test_what_is_proposed_names_the_root_that_was_given(tmp_path: Path) -> None:
    places = Places.below(f"{tmp_path}/a root")
    undo = f"bentpipe tune --undo --root '{tmp_path}/a root'"
    begun = journal.begun(places, ENTRIES, why="a path", until_reboot=False)
    told = list(outcome_lines(Outcome(True, ENTRIES, None, ()), places, 200, until_reboot=False))
    assert told[-1] == f"Take it back: {undo}"
    assert f"The file for boots is {places.drop_in}. No boot reads it there." in told
    assert f"Take it back: {undo}" in list(status_lines(begun, places, 200))
    assert f"# Take it back: {undo}" in drop_in_text(places, begun, None).splitlines()
    usual = list(outcome_lines(Outcome(True, ENTRIES, None, ()), Places(Path("/")), 200, until_reboot=False))
    assert usual[-1] == "Take it back: bentpipe tune --undo"
    assert f"The sysctls survive a reboot: {Places(Path('/')).drop_in} sets them at boot." in usual


def test_the_drop_in_file_has_the_sysctls_with_their_old_values(places: Places) -> None:
    begun: Journal = journal.begun(places, ENTRIES, why="a path", until_reboot=False)
    text = drop_in_text(places, begun, {"times": 5.6, "interval": [5, 6], "pairs": [[1, 5.6]] * 3})
    assert text.splitlines()[2:] == [
        "# Measured: 5.6 times better (5 to 6), 3 pairs.",
        "# was 0",
        "net.ipv4.tcp_sack = 1",
    ]
    assert "default" not in text


def test_files_that_are_read_later_and_set_the_same_are_named(places: Places) -> None:
    names = ["net.ipv4.tcp_sack"]
    assert later(places, names) == []
    (places.root / "etc/sysctl.conf").write_text("# net\n-net/ipv4/tcp_sack=0\n")
    assert len(later(places, names)) == 1
    write_whole(places.root / "etc/other", b"x", 0o600)
    assert (places.root / "etc/other").stat().st_mode & 0o777 == 0o600
