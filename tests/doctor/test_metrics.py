"""The diagnosis as metrics for node_exporter's textfile collector."""

import re
from pathlib import Path
from typing import Any

import pytest

from bentpipe.doctor.prometheus import metrics, write_metrics
from bentpipe.errors import StoreError

LINE = re.compile(r'bentpipe_doctor_[a-z_]+(\{([a-z_]+="([^"\\\n]|\\["\\n])*",?)+\})? -?[0-9.e+-]+')


def entry(**changes: Any) -> dict[str, Any]:
    finding = {"kind": "receiver-window", "share": 0.9, "certainty": 1.0}
    transfer = {
        "name": 'from "a\\b":443',
        "direction": "down",
        "seen_from": "receiver",
        "bytes": 1000,
        "duration_s": 2.0,
        "goodput_mbit_s": 0.004,
        "findings": [finding],
    }
    path = {"rtt_s": 0.1, "rate_mbit_s": None, "queue_bytes": None, "loss": 0.0}
    return {"watch": "all", "source": "watch", "transfers": [transfer], "path": path, **changes}


def test_every_line_is_a_metric_with_its_help_and_type_before_it() -> None:
    lines = list(metrics([entry()], 1_700_000_000.5))
    for line in lines:
        assert line.startswith("# ") or LINE.fullmatch(line), line
    names = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(names) == len(set(names))
    assert (
        'bentpipe_doctor_transfer_limit_share{source="watch",of="all",transfer="from \\"a\\\\b\\":443",'
        in "".join(lines)
    )
    assert "bentpipe_doctor_last_run_timestamp_seconds 1700000000.5" in lines


def test_what_is_not_known_is_left_out() -> None:
    lines = list(metrics([entry(path=None, transfers=[])], 0.0))
    assert not [line for line in lines if "path_" in line or "limit" in line]
    assert [line for line in lines if line.startswith("bentpipe_doctor_transfers{")] == [
        'bentpipe_doctor_transfers{source="watch",of="all"} 0'
    ]


def test_the_file_is_replaced_in_one_step_and_nothing_else_is_left(tmp_path: Path) -> None:
    file = tmp_path / "bentpipe.prom"
    file.write_text("old\n")
    reader = file.open()
    write_metrics(file, [entry()])
    assert reader.read() == "old\n"
    reader.close()
    assert file.read_text().startswith("# HELP")
    assert file.stat().st_mode & 0o777 == 0o644
    assert list(tmp_path.iterdir()) == [file]
    with pytest.raises(StoreError, match="--prometheus"):
        write_metrics(tmp_path / "gone" / "x.prom", [entry()])
