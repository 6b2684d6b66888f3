"""How long a live run is expected to take: the bar's time left, and what its timeouts wait."""

from pathlib import Path

import pytest

from bentpipe.engines.lengths import run_length_s
from bentpipe.lab.load import Lab

PATH = '[path]\nrtt = "500 ms"\nrate = "8 Mbit/s"\n[[workload]]\n'
SETUP_S = 1.5


@pytest.mark.parametrize(
    ("work", "seconds"),
    [
        ('kind = "http"\nsize = "10 MB"\nfetches = 3\n', 3 * (1.0 + 10.0)),
        ('kind = "http"\nobjects = ["1 MB", "1 MB", "2 MB"]\nconnections = 3\n', 1.0 + 4.0),
        ('kind = "bulk"\nsize = "10 MB"\n', 4.0 + 10.0),
        ('kind = "bulk"\ntime = "10 s"\nomit = "1 s"\n', 4.0 + 11.0),
        ('kind = "ping"\ncount = 10\ninterval = "1 s"\n', 10.5),
    ],
)
def test_a_run_is_expected_to_take_what_its_bytes_and_round_trips_take(
    tmp_path: Path, work: str, seconds: float
) -> None:
    file = tmp_path / "lab.toml"
    file.write_text(PATH + work)
    assert run_length_s(Lab.load(file).points()[0].spec) == pytest.approx(SETUP_S + seconds)
