"""A sweep on Slurm: the scheduler runs here, on a login node, and each job brings workers.

    python slurm.py 8 my.toml --engine sim --repeat 100 --out runs/sweep

asks for 8 jobs, and hands the rest to `bentpipe run`. Jobs that reach their time limit are replaced; what
they had not finished is run again. Wants `pip install dask-jobqueue`.
"""

import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from dask_jobqueue import SLURMCluster

A_JOB: dict[str, Any] = {
    "cores": 16,
    "processes": 16,  # one worker for each core
    "memory": "32GB",  # 2 GB for each
    "walltime": "01:00:00",
    "local_directory": "$TMPDIR",
    # Workers leave of themselves before Slurm ends them, not all at once.
    "worker_extra_args": ["--lifetime", "55m", "--lifetime-stagger", "4m"],
    # "queue": "short", "account": "mine", "job_extra_directives": ["--constraint=fast"],
}


def main(arguments: Sequence[str], **cluster: Any) -> int:
    jobs, *run = arguments
    with SLURMCluster(**A_JOB, **cluster) as slurm:
        slurm.adapt(minimum_jobs=int(jobs), maximum_jobs=int(jobs))
        command = [sys.executable, "-m", "bentpipe", "run", *run, "--cluster", slurm.scheduler_address]
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
