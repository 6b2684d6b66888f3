"""The slow starts that a lab can choose, each by what it does to the queue of a long path."""

from pathlib import Path

import pytest

import bentpipe
from bentpipe import EngineError

LAB = """\
duration = "40 s"
[path]
rtt = "550 ms"
rate = "16 Mbit/s"
queue = "4 bdp"
[host]
tcp_wmem = [4096, 16384, 33554432]
congestion_control = {control}
[[workload]]
name = "download"
kind = "bulk"
size = "15 MB"
"""


def _sent_again(tmp_path: Path, control: str) -> int:
    file = tmp_path / f"{len(list(tmp_path.iterdir()))}.toml"
    file.write_text(LAB.format(control=control))
    results = bentpipe.Lab.load(file).run(engine="sim", out=file.with_suffix(""))
    again: int = results.records[0]["workloads"]["download"]["retransmits"]
    return again


@pytest.mark.parametrize("name", ["cubic", "reno"])
def test_the_slow_starts_that_watch_the_path_send_less_again_than_the_standard_one(
    tmp_path: Path, name: str
) -> None:
    again = {
        slow_start: _sent_again(tmp_path, f'{{ name = "{name}", slow_start = "{slow_start}" }}')
        for slow_start in ("standard", "hystart++", "search")
    }
    assert again["standard"] > 2000
    assert again["hystart++"] < again["standard"] / 2
    assert again["search"] < again["standard"] / 2


@pytest.mark.parametrize(
    ("table", "name"),
    [
        ('{ name = "cubic", slow_start = "hystart", beta = 0.7 }', '"cubic"'),
        ('{ name = "reno", slow_start = "standard" }', '"reno"'),
        ('{ name = "bbr" }', '"bbr"'),
    ],
)
def test_a_table_with_linuxs_parameters_is_the_plain_name(tmp_path: Path, table: str, name: str) -> None:
    assert _sent_again(tmp_path, table) == _sent_again(tmp_path, name)


def test_one_that_sim_does_not_have_is_refused_in_a_table_too(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="yeah"):
        _sent_again(tmp_path, '{ name = "yeah" }')
