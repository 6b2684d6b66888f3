"""What a sweep is, wherever its runs are done: which runs, whose folder, what becomes of one that failed."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from sweeping import counted, rows, small_lab

import bentpipe
from bentpipe import _core
from bentpipe.cli.app import app
from bentpipe.errors import EngineError, StoreError
from bentpipe.sweep.run import Tally, execute

BROKEN_SEED = 2


@pytest.fixture
def breaks(monkeypatch: pytest.MonkeyPatch) -> Callable[[Exception | None], None]:
    """Makes the simulator raise this in every run of the second seed; None mends it."""
    simulate = _core.sim_run

    def use(error: Exception | None) -> None:
        def sim_run(spec: str, *more: Any) -> str:
            if error and f'"seed": {BROKEN_SEED}' in spec:
                raise error
            return simulate(spec, *more)

        monkeypatch.setattr(_core, "sim_run", sim_run)

    return use


def test_processes_and_one_by_one_leave_the_same_runs(tmp_path: Path) -> None:
    lab = small_lab(tmp_path)
    lab.run(out=tmp_path / "one")
    lab.run(out=tmp_path / "two", jobs=2)
    assert rows(tmp_path / "one") == rows(tmp_path / "two")
    assert len(rows(tmp_path / "one")) == 8


def test_a_run_has_the_number_of_its_cell_in_its_name(tmp_path: Path) -> None:
    names = sorted(rows(small_lab(tmp_path).run(out=tmp_path / "out").folder))
    assert names[:3] == [
        "001_as-is_10-ms_0_seed-1",
        "001_as-is_10-ms_0_seed-2",
        "002_as-is_10-ms_0.01_seed-1",
    ]


def test_more_repeats_of_the_same_lab_go_into_its_folder(tmp_path: Path) -> None:
    seen: list[Mapping[str, Any]] = []
    small_lab(tmp_path, repeat=1).run(out=tmp_path / "out")
    results = execute(small_lab(tmp_path), engine="sim", out=tmp_path / "out", on_record=seen.append)
    assert len(results.records) == len(seen) == 8
    assert [run["seed"] for run in seen] == [1] * 4 + [2] * 4  # those there before come first


def test_a_fault_in_a_run_fails_that_run_and_not_the_sweep(
    tmp_path: Path, breaks: Callable[[Exception | None], None]
) -> None:
    breaks(RuntimeError("index out of bounds"))  # what a panic becomes
    tally = Tally()
    results = execute(small_lab(tmp_path), engine="sim", out=tmp_path / "out", tally=tally)
    assert (tally.done, tally.failed) == (4, 4)
    assert counted(results, status="failed", seed=BROKEN_SEED, reliable=False) == 4
    failed = next(run for run in results.records if run["status"] == "failed")
    assert "a fault of its own: index out of bounds" in failed["why"][0]
    assert "Traceback" in failed["fault"]
    assert results.of_run(failed["run"], "link").is_empty()


def test_a_fault_that_nobody_foresaw_is_kept_with_its_trace(
    tmp_path: Path, breaks: Callable[[Exception | None], None]
) -> None:
    breaks(KeyError("nobody"))
    results = small_lab(tmp_path).run(out=tmp_path / "out")
    failed = next(run for run in results.records if run["status"] == "failed")
    assert failed["why"] == ["KeyError: 'nobody'"]
    assert "sim_run" in failed["fault"]


def test_what_failed_is_run_again_alone_and_replaced(
    tmp_path: Path, breaks: Callable[[Exception | None], None]
) -> None:
    lab, out = small_lab(tmp_path), tmp_path / "out"
    breaks(RuntimeError("a panic"))
    lab.run(out=out)
    breaks(None)
    stamps = {path: path.stat().st_mtime_ns for path in out.glob("*seed-1/run.json")}
    execute(lab, engine="sim", out=out)
    assert counted(bentpipe.Results.open(out), status="failed") == 4  # a failed run stays until asked for
    tally = Tally()
    execute(lab, engine="sim", out=out, again="failed", tally=tally)
    assert (tally.done, tally.failed) == (8, 0)
    assert stamps == {path: path.stat().st_mtime_ns for path in stamps}
    assert not list(out.glob(".*"))
    lab.run(out=tmp_path / "undisturbed")
    assert rows(out) == rows(tmp_path / "undisturbed")


def test_again_runs_nothing_that_is_missing_and_nothing_that_is_well(tmp_path: Path) -> None:
    small_lab(tmp_path, repeat=1).run(out=tmp_path / "out")
    tally = Tally()
    results = execute(small_lab(tmp_path), engine="sim", out=tmp_path / "out", again="failed", tally=tally)
    assert (len(results.records), tally.done) == (4, 4)


def test_the_command_line_names_what_failed_and_the_command_for_these_alone(
    tmp_path: Path, breaks: Callable[[Exception | None], None], capsys: pytest.CaptureFixture[str]
) -> None:
    small_lab(tmp_path)
    breaks(RuntimeError("a panic"))
    options = [
        "--engine",
        "sim",
        "--repeat",
        "2",
        "--set",
        "path.rate=10 Mbit/s",
        "--out",
        str(tmp_path / "out"),
    ]
    with pytest.raises(SystemExit) as ended:
        app(["run", str(tmp_path / "small.toml"), *options])
    assert ended.value.code == 1
    said = capsys.readouterr().err
    assert "4 runs failed:\n  001_as-is_10-ms_0_seed-2: the simulator broke off small with seed 2" in said
    assert "--set 'path.rate=10 Mbit/s' --repeat 2 --out" in said
    assert any(line.endswith("--again failed") for line in said.splitlines())


def test_what_an_engine_refuses_in_the_first_run_is_refused_and_nothing_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*_what: object) -> str:
        raise ValueError("a path that nobody can walk")

    monkeypatch.setattr(_core, "sim_run", refuses)
    with pytest.raises(EngineError, match="nobody can walk"):
        small_lab(tmp_path).run(out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_an_engine_refuses_later_is_a_failed_run(
    tmp_path: Path, breaks: Callable[[Exception | None], None]
) -> None:
    breaks(ValueError("a path that nobody can walk"))
    assert counted(small_lab(tmp_path).run(out=tmp_path / "out"), status="failed") == 4


def test_a_disk_that_is_full_ends_the_sweep_and_keeps_what_was_finished(
    tmp_path: Path, breaks: Callable[[Exception | None], None]
) -> None:
    breaks(OSError(28, "No space left on device"))
    with pytest.raises(OSError, match="No space left"):
        small_lab(tmp_path).run(out=tmp_path / "out")
    assert list(rows(tmp_path / "out")) == ["001_as-is_10-ms_0_seed-1"]


def test_runs_at_a_url_are_those_of_a_folder_and_go_on_there(tmp_path: Path) -> None:
    url = f"memory://{tmp_path.name}/out"
    small_lab(tmp_path, repeat=1).run(out=url)
    small_lab(tmp_path).run(out=url)
    small_lab(tmp_path).run(out=tmp_path / "out")
    assert rows(url) == rows(tmp_path / "out")
    with pytest.raises(StoreError, match="with other settings"):
        bentpipe.Lab.load(tmp_path / "small.toml", set=["path.rate=1 Mbit/s"]).run(out=url)


def test_a_memory_that_only_its_process_has_is_refused_to_several(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="use --jobs 1"):
        small_lab(tmp_path).run(out=f"memory://{tmp_path.name}/out", jobs=2)


def test_a_run_at_a_url_that_lacks_its_record_is_none_and_is_made_anew(tmp_path: Path) -> None:
    url = f"memory://{tmp_path.name}/out"
    results = small_lab(tmp_path).run(out=url)
    (results.folder / "001_as-is_10-ms_0_seed-1" / "run.json").remove()
    tally = Tally()
    execute(small_lab(tmp_path), engine="sim", out=url, tally=tally)
    assert tally.done == 8


def test_a_failed_run_at_a_url_is_replaced_there(
    tmp_path: Path, breaks: Callable[[Exception | None], None]
) -> None:
    url = f"memory://{tmp_path.name}/out"
    breaks(RuntimeError("a panic"))
    assert counted(small_lab(tmp_path).run(out=url), status="failed") == 4
    breaks(None)
    assert counted(execute(small_lab(tmp_path), engine="sim", out=url, again="failed"), status="done") == 8
