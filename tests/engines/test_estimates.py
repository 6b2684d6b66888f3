"""How long a run is said to take before it begins, and what a simulation says of itself while it runs."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from bentpipe import engines
from bentpipe.errors import EngineError
from bentpipe.lab.load import Lab
from bentpipe.runs.folder import RunFolder
from bentpipe.sweep import progress
from bentpipe.sweep.progress import Lines
from bentpipe.words.durations import spoken

DAY_S = 86_400
LAB = """
duration = "{duration}"
[path]
rtt = "500 ms"
rate = "{rate}"
[[workload]]
name = "download"
kind = "bulk"
"""


@pytest.fixture
def lab(tmp_path: Path) -> Callable[..., Lab]:
    def write(duration: str = "60 s", rate: str = "16 Mbit/s", more: str = "") -> Lab:
        file = tmp_path / "lab.toml"
        file.write_text(LAB.format(duration=duration, rate=rate) + more)
        return Lab.load(file)

    return write


def expected_s(lab: Lab, engine: str) -> float:
    return sum(engines.create(engine).length_s(point.spec) for point in lab.points())


def test_a_live_run_takes_as_long_as_its_duration(lab: Callable[..., Lab]) -> None:
    assert expected_s(lab("100000 h"), "live") == pytest.approx(100_000 * 3600, rel=0.01)


def test_what_iperf3_cannot_be_told_is_refused_before_it_runs(lab: Callable[..., Lab]) -> None:
    live = engines.create("live")
    live.check(lab("24 h").points()[0].spec)
    with pytest.raises(EngineError, match="workload download: iperf3 runs for 86400 s at most, and 86401 s"):
        live.check(lab("86401 s").points()[0].spec)


def test_a_slow_path_and_a_long_duration_make_a_simulation_long(lab: Callable[..., Lab]) -> None:
    """Few bytes cross it, but every bin and every sample of a hundred thousand hours is a row."""
    short, long = expected_s(lab("60 s", "1 bit/s"), "sim"), expected_s(lab("100000 h", "1 bit/s"), "sim")
    assert short < 1
    assert long > 3600


def by_size(lab: Lab, rate: str, size: str) -> Lab:
    text = lab.text.replace('duration = "60 s"', 'until = "done"').replace("16 Mbit/s", rate)
    lab.file.write_text(f'{text}size = "{size}"\n')
    return Lab.load(lab.file)


def test_a_transfer_by_size_over_a_slow_path_is_long_too(lab: Callable[..., Lab]) -> None:
    slow = by_size(lab(), "100 bit/s", "40 GB")
    assert expected_s(slow, "live") > 300e6
    assert expected_s(slow, "sim") > 3600


def test_where_no_handshake_crosses_in_time_the_run_ends_when_the_client_gives_up(
    lab: Callable[..., Lab], tmp_path: Path
) -> None:
    slow = by_size(lab(), "1 bit/s", "40 MB")
    assert expected_s(slow, "live") == pytest.approx(131, abs=5)
    assert expected_s(slow, "sim") < 1
    record = engines.create("sim").run(slow.points()[0], RunFolder.create(tmp_path, "run"), lambda *_: None)
    assert record["workloads"]["download"]["why"] == "the connection failed"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "0 s"),
        (59.4, "59 s"),
        (61, "1 min 01 s"),
        (3 * 3600, "3 h 00 min"),
        (100_000 * 3600, "4167 days"),
        (1e30, "more than 100 years"),
    ],
)
def test_a_duration_is_said_in_words(seconds: float, words: str) -> None:
    assert spoken(seconds) == words


def test_what_may_take_days_is_warned_of_before_it_begins(capsys: pytest.CaptureFixture[str]) -> None:
    Lines().sweep_begins(1, 0, 30.0, 1)
    assert "warning" not in capsys.readouterr().err
    Lines().sweep_begins(10, 0, 50.0 * DAY_S, 2)
    said = capsys.readouterr().err
    assert "10 runs, about 25 days\n" in said
    assert "warning: this may take 25 days" in said


def test_a_long_run_says_now_and_then_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_SIMULATING_S", 0.0)
    lines = Lines()
    lines.sweep_begins(1, 0, 100.0, 1)
    lines.run_begins("001", 100.0)
    lines.run_is_at("001", 2.0, "12 s of 600 s simulated, 6.0 times real time")
    assert "001: 12 s of 600 s simulated, 6.0 times real time, about" in capsys.readouterr().err


def test_a_simulation_tells_the_time_that_it_has_reached_and_its_speed(
    lab: Callable[..., Lab], tmp_path: Path
) -> None:
    point = lab("20 min", "100 Mbit/s").points()[0]
    heard: list[tuple[float, str]] = []

    def hear(seconds: float, detail: str = "") -> None:
        heard.append((seconds, detail))

    engines.create("sim").run(point, RunFolder.create(tmp_path, "run"), hear)
    assert len(heard) > 2
    assert [seconds for seconds, _ in heard] == sorted(seconds for seconds, _ in heard)
    words = r"(\d+ s|\d+ min \d\d s) of 20 min 00 s simulated, [\d.\u202f]+ times real time"
    assert all(re.fullmatch(words, detail) for _, detail in heard), heard


def test_every_kind_of_work_is_estimated(lab: Callable[..., Lab]) -> None:
    more = '[[workload]]\nkind = "http"\nsize = "1 MB"\n[[workload]]\nkind = "channels"\nchannels = 3\n'
    more += 'size = { distribution = "bounded-pareto", shape = 1.2, min = "1.5 kB", max = "50 MB" }\n'
    assert expected_s(lab("1 h", "1 Mbit/s", more), "live") == pytest.approx(3600, rel=0.01)
    assert 0 < expected_s(lab("1 h", "1 Mbit/s", more), "sim") < 3600


def test_a_parameter_of_a_congestion_control_that_is_not_linuxs_is_refused_with_the_reason(
    lab: Callable[..., Lab],
) -> None:
    live = engines.create("live")
    linuxs = '[host]\ncongestion_control = { name = "cubic", slow_start = "hystart", beta = 0.7 }\n'
    live.check(lab(more=linuxs).points()[0].spec)
    other = '[host]\ncongestion_control = { name = "cubic", slow_start = "search" }\n'
    with pytest.raises(
        EngineError, match=r"client: congestion_control\.slow_start: .* for the whole machine"
    ):
        live.check(lab(more=other).points()[0].spec)
