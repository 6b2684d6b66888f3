"""What Careful Resume (RFC 9959) knows from an earlier connection, where the lab does not say it: the BDP and
the base RTT, which is what a transfer that had the path alone could use.
"""

from __future__ import annotations

from typing import TypeVar

from bentpipe.lab import spec
from bentpipe.lab.errors import FaultError
from bentpipe.words.direction import Direction

Parameters = dict[str, str | float]
_HasControl = TypeVar("_HasControl", spec.HostSpec, spec.BulkSpec)


def with_retained(run: spec.RunSpec) -> spec.RunSpec:
    """The same with `saved_cwnd` (bytes) and `saved_rtt` (nanoseconds) wherever Careful Resume is asked for.
    Raises `FaultError` where the path has no rate to take them from.
    """
    path = run.path
    rates = {Direction.DOWN: path.rate_down_bit_s, Direction.UP: path.rate_up_bit_s}

    def known(holder: _HasControl, direction: Direction, key: str) -> _HasControl:
        given: Parameters = holder.congestion_control_parameters
        if given.get("slow_start") != "careful-resume":
            return holder
        retained: Parameters = {"saved_rtt": path.base_rtt_ns}
        if "saved_cwnd" not in given:
            rate_bit_s = rates[direction]
            if rate_bit_s is None:
                raise FaultError(
                    "expected what an earlier connection could use, such as "
                    '{ name = "cubic", slow_start = "careful-resume", saved_cwnd = "1 MB" }',
                    found="no `saved_cwnd`, and a path without a rate",
                    key=f"{key}.congestion_control",
                )
            retained["saved_cwnd"] = max(rate_bit_s * path.base_rtt_ns // 8_000_000_000, 1000)
        return holder.model_copy(update={"congestion_control_parameters": {**retained, **given}})

    workloads = tuple(
        known(work, work.direction, f"workload.{work.name}") if isinstance(work, spec.BulkSpec) else work
        for work in run.workloads
    )
    near = run.near and run.near.model_copy(update={"host": known(run.near.host, Direction.UP, "host")})
    split = run.split and run.split.model_copy(
        update={
            "host": known(run.split.host, Direction.DOWN, "host"),
            "path": known(run.split.path, Direction.DOWN, "split.path"),
        }
    )
    gateway = run.gateway and run.gateway.model_copy(
        update={"host": known(run.gateway.host, Direction.DOWN, "host")}
    )
    return run.model_copy(
        update={
            "client": known(run.client, Direction.UP, "client"),
            "server": known(run.server, Direction.DOWN, "server"),
            "near": near,
            "split": split,
            "gateway": gateway,
            "workloads": workloads,
        }
    )
