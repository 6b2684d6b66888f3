"""`make check-gateway-protocols`: programs and protocols through two real gateways, byte for byte.

Four network namespaces stand in a line: client - near = path = far - server. near and far run the gateways.
The path delays and loses packets. The client's connections go through by TPROXY, some by SOCKS5. What
arrives is compared with what was sent by its hash.

Printed are a line for each trial: what, bytes, right or not, seconds. The status is 1 if a trial was wrong.
A trial that cannot be done here is skipped; its reason is printed. `--short` is a subset with fewer bytes.

Needs Linux, root (`--short`: root of a user namespace), nft, ip and /dev/net/tun. Nothing outside the
namespaces is touched.
"""

import argparse
import os
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

from hosts import WrongError, wait_for
from trials import TRIALS, SkippedError, Trial
from world import World

ROOT = Path(__file__).resolve().parents[2]
SHORT = 1 / 40


def tried(world: World, trial: Trial, share: float) -> tuple[str, int, float]:
    began = time.monotonic()
    try:
        crossed = trial.do(world, share)
    except SkippedError as why:
        return f"skipped: {why}", 0, time.monotonic() - began
    except WrongError as why:
        world.note(f"failed-{TRIALS.index(trial)}")
        return f"WRONG: {why}", 0, time.monotonic() - began
    return "right", crossed, time.monotonic() - began


def all_trials(world: World, trials: list[Trial], share: float) -> list[str]:
    """How each ended."""
    world.build()
    server = world.begin("server", "server.log", sys.executable, Path(__file__).parent / "talk.py", "serve")
    wait_for("the servers", lambda: "ready" in (world.folder / "server.log").read_text())
    print("| what | bytes | result | seconds |\n|---|--:|---|--:|", flush=True)
    ends = []
    settings = None
    for trial in trials:
        if trial.settings != settings:
            if settings:
                world.stop()
            settings = trial.settings
            world.configure(settings)
            world.start()
        end, crossed, took_s = tried(world, trial, share)
        print(f"| {trial.what} | {crossed:,} | {end} | {took_s:.1f} |", flush=True)
        ends.append(end)
    world.stop()
    server.kill()
    return ends


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--gateway", type=Path, default=ROOT / "target/release/bentpipe-gateway", help="the program"
    )
    parser.add_argument("--short", action="store_true", help="a subset, with a fortieth of the bytes")
    parser.add_argument("--only", default="", help="trials whose names match this expression")
    parser.add_argument("--rate", default="50 Mbit/s")
    parser.add_argument("--delay-ms", type=float, default=20, help="one way")
    parser.add_argument("--loss", type=float, default=0.005, help="share of packets, each way")
    parser.add_argument("--keep", type=Path, help="keep logs and files in this folder")
    arguments = parser.parse_args()
    if os.geteuid() or not shutil.which("nft") or not arguments.gateway.exists():
        print(f"proof: this needs root, nft and {arguments.gateway}", file=sys.stderr)
        return 2
    trials = [it for it in TRIALS if it.short or not arguments.short]
    trials = [it for it in trials if re.search(arguments.only, it.what)]
    folder = arguments.keep or Path(tempfile.mkdtemp(prefix="bentpipe-proof-"))
    folder.mkdir(exist_ok=True)
    folder = folder.resolve()
    delay_s = 0.002 if arguments.short else arguments.delay_ms / 1e3
    world = World(arguments.gateway.resolve(), folder, arguments.rate, delay_s, arguments.loss)
    try:
        ends = all_trials(world, trials, SHORT if arguments.short else 1)
    finally:
        world.end()
        if not arguments.keep:
            shutil.rmtree(folder)
    counts = {name: sum(end.startswith(name) for end in ends) for name in ("right", "WRONG", "skipped")}
    print(f"\n{counts['right']} right, {counts['WRONG']} wrong, {counts['skipped']} skipped")
    return 1 if counts["WRONG"] or not counts["right"] else 0


if __name__ == "__main__":
    sys.exit(main())
