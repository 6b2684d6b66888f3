"""Writes samples/window.pcap.gz: a download that a receive window limits, captured at its sender in `sim`.

It is small, since a packet has its first 96 bytes in it. `scripts/check-wheel` diagnoses it.

    .venv/bin/python tests/doctor/sample_capture.py
"""

import gzip
import tempfile
from pathlib import Path

from test_altered_captures import SERVER, packets_of, pcap

import bentpipe
from bentpipe.engines.base import EngineOptions
from bentpipe.sweep.run import execute

SAMPLE = Path(__file__).parent / "samples" / "window.pcap.gz"


def main() -> None:
    lab = bentpipe.Lab(
        path={"rtt": "100 ms", "rate": "20 Mbit/s"},
        client={"tcp_rmem": [4096, 65536, 65536]},
        workload=[{"name": "download", "kind": "http", "size": "600 kB"}],
    )
    with tempfile.TemporaryDirectory() as folder:
        execute(lab, engine="sim", out=Path(folder, "out"), options=EngineOptions(pcap=(SERVER,)))
        (file,) = Path(folder, "out").glob(f"[!.]*/{SERVER}.pcapng")
        # The same bytes at any time.
        SAMPLE.write_bytes(gzip.compress(pcap(packets_of(file), snap=96), mtime=0))


if __name__ == "__main__":
    main()
