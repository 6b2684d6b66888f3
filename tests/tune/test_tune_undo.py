"""What an undo does with a setting that somebody changed since."""

from pathlib import Path

import pytest
import typer

from bentpipe.cli.tune import _undo as undo
from bentpipe.errors import TuneError
from bentpipe.tune import applying, journal, words
from bentpipe.tune.applying import apply, take_back
from bentpipe.tune.files import Places
from bentpipe.tune.journal import Entry, Journal
from bentpipe.tune.machine import Machine
from bentpipe.tune.path import TunedPath
from bentpipe.tune.plan import Plan
from bentpipe.tune.settings import Sysctl
from bentpipe.tune.words import status_lines, taken_back_lines

OURS = Entry("sysctl", "net.ipv4.tcp_sack", "0", "1")
THEIRS = Entry("sysctl", "net.ipv4.tcp_mtu_probing", "0", "1")


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The sysctls after tune has set both, and somebody one of them."""
    for module in (applying, words):
        monkeypatch.setattr(module, "made", lambda _kind, name: Sysctl(name, tmp_path / "proc"))
    folder = tmp_path / "proc/net/ipv4"
    folder.mkdir(parents=True)
    (folder / "tcp_sack").write_text("1\n")
    (folder / "tcp_mtu_probing").write_text("2\n")
    return folder


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """With the journal of a tune that is applied."""
    places = Places(tmp_path)
    places.folder.mkdir(parents=True)
    begun = journal.begun(places, [OURS, THEIRS], why="a path", until_reboot=False)
    begun.with_state("applied", None).write(places)
    return places


def undone(places: Places, *, force: bool = False) -> applying.TakenBack:
    found = journal.read(places)
    assert found is not None
    return take_back(found, places, force=force)


def test_what_somebody_changed_stays_in_the_journal_until_force_restores_it(
    places: Places, proc: Path
) -> None:
    first = undone(places)
    assert (list(first.restored), list(first.theirs)) == ([OURS], [(THEIRS, "2")])
    told = list(taken_back_lines(first, places, 200))
    assert told[-1] == "Restore what is left: bentpipe tune --undo --force"
    kept = journal.read(places)
    assert kept is not None
    assert (kept.state, list(kept.entries)) == ("left", [THEIRS])
    told = list(status_lines(kept, places, 200))
    assert "  net.ipv4.tcp_mtu_probing: 0 -> 1; now 2" in told
    assert told[-1] == "Restore what is left: bentpipe tune --undo --force"

    again = undone(places)
    assert (list(again.restored), list(again.theirs)) == ([], [(THEIRS, "2")])
    assert (proc / "tcp_mtu_probing").read_text() == "2\n"

    assert list(undone(places, force=True).restored) == [THEIRS]
    assert (proc / "tcp_mtu_probing").read_text().strip() == "0"
    assert journal.read(places) is None


@pytest.mark.usefixtures("proc")
@pytest.mark.parametrize("json_", [False, True])
def test_an_undo_that_leaves_something_exits_with_1(
    places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, json_: bool
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(Machine, "is_read_only", False)
    assert places.journal.exists()
    with pytest.raises(typer.Exit) as ended:
        undo(Machine(), str(tmp_path), force=False, json_=json_)
    assert ended.value.exit_code == 1
    # Nothing is left by this one, which ends as usual.
    undo(Machine(), str(tmp_path), force=True, json_=json_)
    assert not places.journal.exists()


def test_what_has_its_old_value_again_is_no_longer_left(places: Places, proc: Path) -> None:
    undone(places)
    (proc / "tcp_mtu_probing").write_text("0\n")
    assert not undone(places).theirs
    assert journal.read(places) is None


@pytest.mark.usefixtures("proc")
def test_an_undo_that_is_killed_before_its_last_step_is_repeated(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(_journal: Journal, _places: Places) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as during:
        during.setattr(Journal, "write", killed)
        with pytest.raises(KeyboardInterrupt):
            undone(places)
    assert list(undone(places).theirs) == [(THEIRS, "2")]
    assert list(undone(places, force=True).restored) == [THEIRS]


@pytest.mark.usefixtures("proc")
def test_the_drop_in_file_is_taken_back_once(places: Places) -> None:
    undone(places)
    places.drop_in.parent.mkdir(parents=True)
    places.drop_in.write_text("# somebody's own, since\n")
    undone(places, force=True)
    assert places.drop_in.exists()


@pytest.mark.usefixtures("proc")
def test_nothing_is_applied_while_something_is_left(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(applying, "refusal", lambda *_of, **_more: None)
    undone(places)
    nothing = Plan(TunedPath("both", 20e6, 0.3), [], [], [], [])
    with pytest.raises(TuneError, match=r"changed net.ipv4.tcp_mtu_probing since.*--undo --force; to keep"):
        apply(nothing, Machine(), places, None, until_reboot=False)


@pytest.mark.usefixtures("proc")
def test_what_is_changed_during_the_proof_is_said() -> None:
    done = applying.TakenBack([OURS], [(THEIRS, "2")], [])
    with pytest.raises(TuneError, match=r"not taken back: net.ipv4.tcp_mtu_probing, which somebody changed"):
        applying._orderly(done, Places(Path("/")))
