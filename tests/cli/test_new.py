"""`bentpipe new` writes a lab that runs at once, from options or from answers."""

import signal
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from terminal import Terminal

import bentpipe
from bentpipe.lab import first_lab
from bentpipe.lab.presets import PRESETS
from bentpipe.lab.units import parse_time
from invocation import Command
from waiting import LONG_S


@pytest.mark.parametrize("work", first_lab.WORKS)
def test_a_lab_of_each_kind_of_work_runs_as_written(tmp_path: Path, run: Command, work: str) -> None:
    said = run("new", "--rate", "10Mbit/s", "--rtt", "20ms", "--queue", "30 kB", "--work", work)
    assert (said.status, said.stdout) == (0, "my.toml\n")
    assert said.stderr == "Run it in virtual time: bentpipe run my.toml\n"
    entries = bentpipe.simulate(tmp_path / "my.toml").record["workloads"]
    carried = [each for name, each in entries.items() if name != "rtt"] or [*entries.values()]
    assert all(each.get("bytes") or each.get("sent") for each in carried)


@pytest.mark.parametrize("preset", PRESETS)
def test_each_preset_gives_its_rates_and_its_round_trip(preset: str) -> None:
    text = first_lab.text_of(first_lab.of_preset(preset), "my.toml")
    path = tomllib.loads(text)["path"]
    known = PRESETS[preset]
    assert parse_time(path["rtt"]) == parse_time(known.path["rtt"])
    for name, pipe in (("down", known.down), ("up", known.up)):
        assert path.get(name, path)["rate"] == pipe.get("rate", known.path.get("rate"))


@pytest.mark.parametrize("work", first_lab.WORKS)
def test_what_is_commented_out_is_right_too(work: str) -> None:
    text = first_lab.text_of(replace(first_lab.of_preset("geo"), work=work), "my.toml")
    before, mark, after = text.partition("# [[variant]]")
    lines = (mark + after).splitlines()
    whole = before + "\n".join(line.removeprefix("# ") for line in lines if not line.startswith("# Or"))
    lab = bentpipe.Lab.loads(whole)
    assert [*lab.variants] == ["as is", "bbr", "coded tunnel", "split", "gateway"]
    assert len(lab.points()) == 15


def test_options_go_before_the_preset(tmp_path: Path, run: Command) -> None:
    run("new", "a.toml", "--preset", "leo", "--rate-up", "20Mbit/s", "--loss", "1e-3")
    path = tomllib.loads((tmp_path / "a.toml").read_text())["path"]
    assert (path["down"], path["up"]) == ({"rate": "100 Mbit/s"}, {"rate": "20 Mbit/s"})
    assert path["loss"] == 0.001


def test_a_file_that_is_there_is_kept_unless_forced(tmp_path: Path, run: Command) -> None:
    (tmp_path / "a.toml").write_text("mine")
    said = run("new", "a.toml", "--preset", "geo")
    assert said.status == 2
    assert "--force" in said.stderr
    assert (tmp_path / "a.toml").read_text() == "mine"
    assert run("new", "--out", "a.toml", "--preset", "geo", "--force").status == 0
    assert (tmp_path / "a.toml").read_text() != "mine"


def test_what_was_typed_is_written_without_loss(tmp_path: Path, run: Command) -> None:
    assert run("new", "--preset", "geo", "--loss", "0.123456789", "--queue", "100\n kB ").status == 0
    path = tomllib.loads((tmp_path / "my.toml").read_text())["path"]
    assert (path["loss"], path["queue"]) == (0.123456789, "100 kB")


@pytest.mark.parametrize("text", ["50 Mbit/s / 5 MB/s", "50Mbit/s/5MB/s", "50 Mbit/s  /  5 MB/s"])
def test_two_rates_are_told_apart_by_a_slash_that_is_of_no_unit(text: str) -> None:
    assert first_lab.read_rates(text) == (50_000_000, 40_000_000)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ([], "neither options nor a terminal for questions; expected --rate and --rtt, or --preset"),
        (["--rate", "16Mbit/s"], "--rtt: found nothing; expected --rtt 550ms"),
        (["--rate", "16", "--rtt", "1ms"], '--rate: found "16", a number without a unit'),
        (["--rate", "16Mbit/s", "--rtt", "0ms"], '--rtt: found "0ms"; expected a round trip above zero'),
        (["--preset", "goe"], 'did you mean "geo"?'),
        (["--preset", "geo", "--loss", "1%"], '--loss: found "1%"; expected a probability'),
        (["--preset", "geo", "--loss", "1"], "at 1 nothing arrives"),
        (["--preset", "geo", "--queue", "100"], "--queue"),
        (["--preset", "geo", "--work", "downlod"], 'did you mean "download"?'),
        (["b.toml", "--out", "c.toml", "--preset", "geo"], "found two files"),
    ],
)
def test_what_is_wrong_is_said_by_option_and_nothing_is_written(
    tmp_path: Path, run: Command, options: list[str], says: str
) -> None:
    said = run("new", *options)
    assert (said.status, said.stdout) == (2, "")
    assert says in said.stderr
    assert len(said.stderr.splitlines()) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["plain.toml"]


def test_a_file_name_with_a_line_feed_stays_in_its_comment(tmp_path: Path, run: Command) -> None:
    assert run("new", "a\n[path]\nb.toml", "--preset", "geo").status == 0
    tomllib.loads((tmp_path / "a\n[path]\nb.toml").read_text())


def test_five_answers_make_a_lab_and_a_wrong_one_is_asked_for_again(tmp_path: Path) -> None:
    terminal = Terminal(["new", "home.toml"], tmp_path, 100)
    try:
        terminal.read(until="1/5")
        terminal.type("50 Mbit/s / 5 Mbit/s")
        terminal.read(until="2/5")
        terminal.type("16 Mbit")
        terminal.read(until='"Mbit" is not a unit of time; units of time:')
        terminal.type("40")
        terminal.read(until="a number without a unit")
        terminal.type("40 ms")
        terminal.read(until="3/5")
        terminal.type("")
        terminal.read(until="4/5")
        terminal.type("60 ms")
        terminal.read(until="5/5")
        terminal.type("web")
        terminal.read(until="bentpipe run home.toml")
        assert terminal.process.wait(LONG_S) == 0
    finally:
        terminal.process.kill()
        terminal.process.wait()
    lab = tomllib.loads((tmp_path / "home.toml").read_text())
    assert lab["path"] == {
        "rtt": "40 ms",
        "down": {"rate": "50 Mbit/s"},
        "up": {"rate": "5 Mbit/s"},
        "queue": "60 ms",
        "loss": 0,
    }
    assert [work["kind"] for work in lab["workload"]] == ["ping", "http"]


def test_a_ctrl_c_at_a_question_ends_its_line_and_writes_nothing(tmp_path: Path) -> None:
    terminal = Terminal(["new"], tmp_path, 100)
    try:
        terminal.read(until="1/5")
        terminal.process.send_signal(signal.SIGINT)
        assert "\r\nbentpipe: interrupted" in terminal.read(until="interrupted")
        assert terminal.process.wait(LONG_S) == 130
    finally:
        terminal.process.kill()
        terminal.process.wait()
    assert list(tmp_path.iterdir()) == []


NOT_INTERRUPTED = """
import builtins, os, signal, sys
from bentpipe.__main__ import main

def read_for_ever(prompt):
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # another thread takes it: this one reads on
    print(prompt, end="", flush=True)
    os.read(0, 1)

builtins.input = read_for_ever
main()
"""


def test_a_ctrl_c_that_the_reading_of_the_answer_misses_ends_its_line_too(tmp_path: Path) -> None:
    terminal = Terminal(["new"], tmp_path, 100, by=("-c", NOT_INTERRUPTED))
    try:
        terminal.read(until="[16 Mbit/s]: ")
        terminal.process.send_signal(signal.SIGINT)
        assert "[16 Mbit/s]: \r\nbentpipe: interrupted" in terminal.read(until="interrupted")
        assert terminal.process.wait(LONG_S) == 130
    finally:
        terminal.process.kill()
        terminal.process.wait()


def test_a_known_path_answers_the_first_question_and_the_end_of_input_writes_nothing(tmp_path: Path) -> None:
    terminal = Terminal(["new"], tmp_path, 100)
    try:
        terminal.read(until="1/5")
        terminal.type("leo")
        assert "[40 ms]" in terminal.read(until="[40 ms]")
        terminal.type("\x04")
        assert "nothing was written" in terminal.read(until="nothing was written")
    finally:
        terminal.process.kill()
        terminal.process.wait()
    assert list(tmp_path.iterdir()) == []
