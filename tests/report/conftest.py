"""Made-up results for the charts and reports (synthetic.py says of what kind)."""

from pathlib import Path

import pytest
import synthetic

from bentpipe.report import html
from bentpipe.runs.store import Results


@pytest.fixture(scope="session")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Two variants, five round trips, two directions, once each; all of 0.6 ms unreliable."""
    return Results.open(synthetic.sweep(tmp_path_factory.mktemp("sweep")))


@pytest.fixture(scope="session")
def geo(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """One download at 16 Mbit/s and 550 ms, with a queue that fills and drops."""
    out: Path = tmp_path_factory.mktemp("geo")
    return Results.open(synthetic.run(out, rtt_ms=550, rate_bit_s=16_000_000))


@pytest.fixture(scope="session")
def sweep_page(sweep: Results) -> str:
    return html.render(sweep)


@pytest.fixture(scope="session")
def geo_page(geo: Results) -> str:
    return html.render(geo)
