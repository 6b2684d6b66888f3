"""A sweep of 1000 runs that is killed three times, beside one that is not: `make check-interrupted`.

Twice the command itself by kill -9 at a random moment while two processes write, once with them and once
alone; then a worker of the Dask cluster that goes on with it. The command is given again each time. At the
end every record and every table must be as the undisturbed sweep has them, but for times.
"""

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from killing import Sweep, cluster, difference, killed, wait_for

LAB = Path(__file__).with_name("interrupted.toml")
REPEAT = 10
RUNS = 1000


def main() -> int:
    parser = argparse.ArgumentParser(prog="make check-interrupted", description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=None, help="of the moments; default: others each time")
    asked = parser.parse_args()
    seed = asked.seed if asked.seed is not None else random.SystemRandom().randrange(10**6)
    rng = random.Random(seed)
    print(f"moments by seed {seed}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sweep = Sweep(LAB, REPEAT, folder / "interrupted")
        moments = sorted(rng.sample(range(20, RUNS - 50), 3))
        begun_s = time.monotonic()
        for moment, group in zip(moments[:2], (True, False), strict=True):
            whole = killed(sweep, moment, rng, "--jobs", "2", group=group)
            who = "bentpipe and its workers" if group else "bentpipe"
            print(f"kill -9 of {who}: {whole} of {RUNS} runs are whole", flush=True)
        with cluster(folder, 2) as (address, workers):
            process = sweep.begin("--cluster", address)
            wait_for(sweep, moments[2], process)
            time.sleep(rng.uniform(0, 0.1))
            workers[0].kill()
            print(f"kill -9 of a Dask worker: {sweep.whole} of {RUNS} runs are whole", flush=True)
            status = process.wait()
        print(
            f"ended with status {status}: {sweep.whole} runs, {time.monotonic() - begun_s:.0f} s in all",
            flush=True,
        )
        begun_s = time.monotonic()
        undisturbed = Sweep(LAB, REPEAT, folder / "undisturbed")
        undisturbed.ended("--jobs", "2")
        print(f"undisturbed: {undisturbed.whole} runs, {time.monotonic() - begun_s:.0f} s", flush=True)
        lines = difference(sweep.out, undisturbed.out)
        print("\n".join(lines) if lines else "Every record and every table is the same.")
        return 1 if lines or status or sweep.whole != RUNS else 0


if __name__ == "__main__":
    sys.exit(main())
