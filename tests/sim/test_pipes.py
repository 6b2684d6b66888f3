"""Every way to write a pipe is one that crates/path takes, which refuses a key that it does not know."""

from pathlib import Path

import pytest

import bentpipe
from bentpipe.lab.presets import PRESETS

RATE = 'rate = "10 Mbit/s"\n'
PIPES = {
    "nothing": "",
    "rtt": 'rtt = "20 ms"',
    "delay per pipe": 'rtt = "20 ms"\n[path.down]\ndelay = "15 ms"',
    "rate": RATE,
    "token bucket": 'rate = { rate = "10 Mbit/s", burst = "10 kB" }',
    "token bucket with a peak": 'rate = { rate = "10 Mbit/s", burst = "10 kB", peak = "20 Mbit/s" }',
    "delivery opportunities": 'rate = { trace = "link.trace", format = "mahimahi" }',
    "steps": 'rate = { steps = [["0 s", "16 Mbit/s"], ["1 s", "unlimited"], ["2 s", "8 Mbit/s"]] }',
    "queue in bytes": RATE + 'queue = "100 kB"',
    "queue in packets": RATE + 'queue = "250 packets"',
    "queue in time": RATE + 'queue = "60 ms"',
    "queue in BDP": RATE + 'rtt = "100 ms"\nqueue = "0.5 bdp"',
    "queue unlimited": RATE + 'queue = "unlimited"',
    **{
        discipline: RATE + f'queue = {{ limit = "100 kB", discipline = "{discipline}" }}'
        for discipline in ("fifo", "head-drop")
    },
    **{
        f"{discipline} with ECN": RATE
        + f'queue = {{ limit = "100 kB", discipline = "{discipline}", ecn = true }}'
        for discipline in ("red", "codel", "fq_codel", "pie")
    },
    **{
        f"{distribution} jitter": f'jitter = {{ spread = "5 ms", distribution = "{distribution}", '
        "correlation = 0.25, reorder = true }"
        for distribution in ("normal", "uniform", "pareto")
    },
    "delay line in packets": 'delay_limit = "1000 packets"',
    "delay line in bytes": 'delay_limit = "2 MB"',
    "policer": 'policer = { rate = "1 Mbit/s", burst = "10 kB" }',
    "loss": "loss = 0.001\ningress_loss = 0.001",
    "loss in bursts": 'loss = { model = "gilbert-elliott", p = 0.01, r = 0.5, good = 0.0, bad = 0.5 }',
    "loss by a trace": 'loss = { model = "trace", file = "loss.trace" }',
    "duplicates and flipped bits": "duplicate = 0.1\ncorrupt = 0.1",
    "outages": 'outages = [["30 s", "2 s"], ["40 s", "1 s"]]',
    "mtu": "mtu = 9000",
    **{f"preset {name}": f'preset = "{name}"' for name in PRESETS},
}


@pytest.mark.parametrize("name", PIPES)
def test_a_pipe_as_a_lab_may_write_it_is_one_that_runs(tmp_path: Path, name: str) -> None:
    (tmp_path / "link.trace").write_text("0\n5\n5\n12\n")
    (tmp_path / "loss.trace").write_text("0010\n")
    work = '[[workload]]\nname = "rtt"\nkind = "ping"\ncount = 3\ninterval = "10 ms"\n'
    (tmp_path / "lab.toml").write_text(f'until = "done"\nduration = "1 s"\n[path]\n{PIPES[name]}\n{work}')
    results = bentpipe.Lab.load(tmp_path / "lab.toml").run(out=tmp_path / "out")
    (record,) = results.records
    assert (record["engine"], record["status"]) == ("sim", "done")
    assert record["workloads"]["rtt"]["sent"] == 3
