"""A run in memory is the run that a folder would have held."""

import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest
from simulating import LAB

import bentpipe
from bentpipe.runs.schema import TABLES

OF_THE_RUN_ITSELF = {"folder", "started", "wall_s", "engine_error"}
SWEPT = """
[sweep]
"path.rtt" = ["50 ms", "100 ms"]
[[variant]]
name = "BBR"
set = { "host.congestion_control" = "bbr" }
"""


@pytest.fixture
def lab(tmp_path: Path) -> bentpipe.Lab:
    return written(tmp_path, LAB)


def written(folder: Path, text: str) -> bentpipe.Lab:
    file = folder / "download.toml"
    file.write_text(text)
    return bentpipe.Lab.load(file)


def figures(record: dict[str, Any]) -> Any:
    kept = {key: value for key, value in record.items() if key not in OF_THE_RUN_ITSELF | {"run"}}
    return json.loads(json.dumps(kept))


def test_it_has_the_record_and_the_tables_of_a_run_in_a_folder(lab: bentpipe.Lab, tmp_path: Path) -> None:
    in_folder = lab.run(out=tmp_path / "out")
    run = bentpipe.simulate(lab)
    record = tmp_path / "out" / in_folder.names[0] / "run.json"
    assert figures(run.record) == figures(json.loads(record.read_text()))
    for name in TABLES:
        assert run.table(name).equals(in_folder.of_run(in_folder.names[0], name)), name


def test_it_leaves_nothing_on_the_disk(
    lab: bentpipe.Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    bentpipe.simulate(lab)
    assert list(Path().iterdir()) == []


def test_what_is_saved_is_a_run_like_others(lab: bentpipe.Lab, tmp_path: Path) -> None:
    run = bentpipe.simulate(lab, seed=5)
    folder = run.save(tmp_path / "runs" / "kept")
    results = bentpipe.Results.open(folder)
    record = json.loads((folder / "run.json").read_text())
    assert record["folder"] == str(folder)
    assert figures(record) == figures(run.record)
    assert results.sockets.drop("run").equals(run.table("sockets"))
    with pytest.raises(bentpipe.StoreError, match="there already"):
        run.save(folder)


def test_its_seed_can_be_another_than_the_labs(lab: bentpipe.Lab) -> None:
    assert bentpipe.simulate(lab).record["seed"] == 1
    assert bentpipe.simulate(lab, seed=7).record["seed"] == 7


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"sample_s": 0}, "sample_s: found 0; expected seconds from 0.001"),
        ({"sample_s": float("nan")}, "sample_s: found nan"),
        ({"sample_s": 1e10}, "sample_s: found 10000000000.0"),
        ({"seed": -1}, "seeds: found -1"),
        ({"seed": "7"}, 'seeds: found "7"'),
    ],
)
def test_a_sampling_time_or_a_seed_that_is_none_is_refused(
    lab: bentpipe.Lab, asked: dict[str, Any], said: str
) -> None:
    with pytest.raises(bentpipe.LabError, match=re.escape(said)):
        bentpipe.simulate(lab, **asked)


def test_progress_is_told_the_share_that_is_done(tmp_path: Path) -> None:
    lab = written(tmp_path, LAB.replace("2 MB", "400 MB").replace("10 Mbit", "100 Mbit"))
    shares: list[float] = []
    bentpipe.simulate(lab, progress=shares.append)
    assert shares
    assert shares == sorted(shares)
    assert 0 < shares[0] <= shares[-1] <= 1


def test_what_progress_raises_ends_the_run(tmp_path: Path) -> None:
    def stop(_share: float) -> None:
        raise TimeoutError("long enough")

    with pytest.raises(TimeoutError, match="long enough"):
        bentpipe.simulate(written(tmp_path, LAB.replace("2 MB", "400 MB")), progress=stop)


def test_ctrl_c_ends_the_run(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        bentpipe.simulate(
            written(tmp_path, LAB.replace("2 MB", "400 MB")),
            progress=lambda _share: signal.raise_signal(signal.SIGINT),
        )


def test_one_point_of_a_sweep_is_named_by_its_variant_and_its_values(tmp_path: Path) -> None:
    lab = written(tmp_path, LAB + SWEPT)
    run = bentpipe.simulate(lab, "BBR", point={"path.rtt": "50 ms"})
    assert run.record["variant"] == "BBR"
    assert run.record["point"] == {"path.rtt": "50 ms"}


def test_what_leaves_no_point_or_several_is_refused_with_the_choices(tmp_path: Path) -> None:
    lab = written(tmp_path, LAB + SWEPT)
    with pytest.raises(bentpipe.LabError, match=r"2 points.*'50 ms', '100 ms'"):
        bentpipe.simulate(lab)
    with pytest.raises(bentpipe.LabError, match=r"values that are swept: path\.rtt = '50 ms', '100 ms'"):
        bentpipe.simulate(lab, point={"path.rtt": "70 ms"})
    with pytest.raises(bentpipe.LabError, match="expected one of as is, BBR"):
        bentpipe.simulate(lab, "bbr")


def test_what_the_simulator_cannot_do_is_refused(tmp_path: Path) -> None:
    lab = written(tmp_path, LAB + '[host]\ncongestion_control = "yeah"\n')
    with pytest.raises(bentpipe.EngineError, match="yeah"):
        bentpipe.simulate(lab)


def test_a_table_that_there_is_not_is_refused(lab: bentpipe.Lab) -> None:
    with pytest.raises(bentpipe.StoreError, match="there is no table 'packets'"):
        bentpipe.simulate(lab).table("packets")


def test_a_run_says_what_it_was_and_what_its_work_gave(lab: bentpipe.Lab) -> None:
    said = repr(bentpipe.simulate(lab, seed=3))
    assert "seed 3 (sim, done)" in said
    assert "Mbit/s)" in said
    assert len(said) < 500
