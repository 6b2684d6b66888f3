"""The published tuning story in full, on this machine's kernel: `make story-tune`. Some five minutes.

A path of 20 Mbit/s over 411 ms, whose receiver allows a buffer of 160 KiB. It prints each command and what it
says: the doctor names the receiver's window and predicts four times the window; tune plans it, applies it in
the lab's client, measures before and after in turns, and takes it back.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

from bentpipe.doctor import from_run
from bentpipe.doctor.viewed import view
from bentpipe.lab.shipped import shipped_labs
from bentpipe.runs.store import Results

_SHOWN_S = 30
_RATE_MBIT_S = 20
_PUBLISHED = Path(__file__).parents[2] / "python/bentpipe/published.toml"
_LAB = """\
title    = "A window that is too small for 411 ms"
duration = "120 s"

[path]
rtt = "411 ms"
[path.down]
rate = "20 Mbit/s"
[path.up]
rate = "10 Mbit/s"

[host]
congestion_control = "cubic"

[client]
tcp_rmem = [4096, 131072, 163840]

[[workload]]
name      = "download"
kind      = "bulk"
direction = "down"
"""
_MEASURE = """\
iperf3 -c server -R -O 5 -t 20 -J | python3 -c '
import json, sys
print(round(json.load(sys.stdin)["end"]["sum_received"]["bits_per_second"] / 8192, 1))'
"""
_INSIDE = """\
show() { echo; echo "$ $1"; eval "$1" 2>&1; }
show "sysctl net.ipv4.tcp_rmem"
show "bentpipe tune --from slow.json"
show 'bentpipe tune --from slow.json --apply --measure "sh goodput-kib.sh"'
show "bentpipe tune --status"
bentpipe tune --status --json >status.json
show "cat root/etc/sysctl.d/99-zz-bentpipe-tune.conf"
show "sysctl net.ipv4.tcp_rmem"
show "bentpipe tune --undo"
show "sysctl net.ipv4.tcp_rmem"
echo; echo "$ find root -type f"
find root -type f
"""


def told(command: str, folder: Path, into: Path | None = None, *, may_fail: bool = False) -> None:
    """Print a command and its output; or write the output to a file.

    `may_fail`: a run that other work disturbed says so itself, and ends with status 1.
    """
    print(f"\n$ {command}{f' > {into.name}' if into else ''}", flush=True)
    environment = {
        **os.environ,
        "COLUMNS": "80",
        "NO_COLOR": "1",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "BENTPIPE_TUNE_ROOT": str(folder / "root"),
    }
    ended = subprocess.run(
        shlex.split(command),
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL if into else subprocess.STDOUT,
        text=True,
        check=False,
    )
    if into:
        into.write_text(ended.stdout)
    else:
        print(ended.stdout, end="", flush=True)
    if ended.returncode and not may_fail:
        sys.exit(f"status {ended.returncode}")


def draw(
    pairs: Sequence[tuple[float, float]], predicted: float, published: Sequence[float], file: Path
) -> None:
    """The proof's pairs in KiB/s, with what was predicted and what was published."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - an extra, and only for the picture

    figure = Figure(figsize=(8, 2.6), layout="constrained")
    axes = figure.subplots()
    axes.axvspan(min(published), max(published), color="#d9e4f2", label="published after tuning")
    axes.axvline(predicted, color="#b3541e", linestyle="--", label="predicted by the doctor")
    rows = range(1, len(pairs) + 1)
    axes.plot([before for before, _ in pairs], rows, "o", color="#777777", label="measured before")
    axes.plot([after for _, after in pairs], rows, "o", color="#1f5f99", label="measured after")
    axes.set(xlabel="goodput, KiB/s", ylabel="pair", yticks=rows, ylim=(len(pairs) + 0.6, 0.4))
    axes.set_xlim(left=0)
    figure.legend(loc="outside upper center", ncols=4, frameon=False)
    figure.savefig(file, dpi=110)


def draw_seen(run: Path, file: Path) -> None:
    """What the doctor saw at the receiver: the window and what was in flight, and the rate."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - an extra, and only for the picture

    results = Results.open(run)
    record = results.records[0]
    tables = {name: results.of_run(record["run"], name) for name in ("sockets", "flows", "pings")}
    seen = view(next(iter(from_run.transfers(record, tables, "receiver"))))
    time_s = seen.time_s - seen.evidence.start_s
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    windows, rates = figure.subplots(2, sharex=True)
    windows.plot(time_s, seen["rwnd_bytes"] / 1e3, color="#b3541e", label="receive window")
    windows.plot(time_s, seen.flight / 1e3, color="#1f5f99", label="in flight, as the receiver infers it")
    windows.set(ylabel="kB", ylim=(0, None), xlim=(0, _SHOWN_S))
    windows.legend(loc="lower right", frameon=False)
    rates.axhline(_RATE_MBIT_S, color="#777777", linestyle="--", label="the line's rate")
    rates.plot(time_s, seen.total_bit_s / 1e6, color="#1f5f99", label="payload")
    rates.set(xlabel="seconds", ylabel="Mbit/s", ylim=(0, None))
    rates.legend(loc="center right", frameon=False)
    figure.savefig(file, dpi=110)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--pictures", type=Path, help="the folder to draw into: docs/images")
    pictures = asked.parse_args().pictures
    assert "intercontinental-tuning" in shipped_labs()
    published = tomllib.loads(_PUBLISHED.read_text())["intercontinental-tuning"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "story.toml").write_text(_LAB)
        (folder / "goodput-kib.sh").write_text(_MEASURE)
        (folder / "inside.sh").write_text(_INSIDE)
        (folder / "root/etc").mkdir(parents=True)
        (folder / "root/var/lib").mkdir(parents=True)
        told("bentpipe run story.toml --engine live --out slow --quiet", folder, may_fail=True)
        told("bentpipe doctor slow --seen-from receiver", folder)
        report = folder / "slow.json"
        told("bentpipe doctor slow --seen-from receiver --json", folder, report)
        told("bentpipe shell story.toml -- sh inside.sh", folder)
        cure = json.loads(report.read_text())["transfers"][0]["cures"][0]
        if pictures:
            draw_seen(folder / "slow", pictures / "tune-story-seen.png")
        pairs = json.loads((folder / "status.json").read_text())["proof"]["pairs"]
    low, high = cure["interval"]
    kib = [
        None if each is None else f"{each * 1e6 / 8192:.0f}" for each in (cure["goodput_mbit_s"], low, high)
    ]
    print(f"\nPredicted: {kib[0]} KiB/s ({kib[1]} to {kib[2] or 'more, as the path allows'}).")
    tuned = published["tuned_KiB_s"]
    if pictures:
        draw(pairs, cure["goodput_mbit_s"] * 1e6 / 8192, tuned, pictures / "tune-story.png")
    print(f"Published: {published['default_KiB_s']} KiB/s before, {min(tuned)} to {max(tuned)} KiB/s after.")


if __name__ == "__main__":
    main()
