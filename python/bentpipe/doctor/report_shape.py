"""What `bentpipe doctor --json` prints for each source: `bentpipe schema doctor` prints it as a JSON schema.

A figure that is not known is null. Shares and certainties are from 0 to 1.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from bentpipe.doctor.claim import KINDS
from bentpipe.doctor.evidence import SeenFrom

Kind = Annotated[str, Field(json_schema_extra={"enum": list(KINDS)})]
Share = Annotated[float, Field(ge=0, le=1)]
Known = float | None
Bounds = Annotated[list[Known], Field(min_length=2, max_length=2, description="lowest and highest")]


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid")


class FindingShape(_Shape):
    kind: Kind
    share: Annotated[Share, Field(description="of the time between the first and the last payload")]
    certainty: Share
    because: Annotated[str, Field(description="one sentence")]
    evidence: Annotated[dict[str, Any], Field(description="figures, with their units in their names")]
    formula: str
    otherwise: Annotated[str, Field(description="what would have shown that it is not so")]
    lost_share: Annotated[
        Share | None, Field(description="of what the path could carry; null: its rate is not known")
    ]


class OnOthersShape(_Shape):
    goodput_times: Annotated[
        Known, Field(description="of the transfers that share a queue with it; null: there are none")
    ]
    interval: Bounds
    queue_s: Annotated[
        list[Known] | None, Field(description="mean wait in the path's queue, before and after")
    ]


class CureShape(_Shape):
    change: Annotated[dict[str, Any], Field(description="keys of a lab and their new values")]
    goodput_mbit_s: Known
    interval: Annotated[Bounds, Field(description="Mbit/s; null: as much as the path allows")]
    simulated_mbit_s: Known
    seen_simulated_mbit_s: Annotated[Known, Field(description="the transfer as it is, simulated")]
    others: Annotated[OnOthersShape, Field(description="what the change does to others")]


class SimulatedShape(_Shape):
    goodput_mbit_s: Known
    interval: Bounds
    first_finding: Kind | None


class PathShape(_Shape):
    rtt_s: Known
    rtt_interval_s: Bounds
    rate_mbit_s: Known
    rate_from: Annotated[
        Literal["trains", "bursts", "start", "queue", "probing", "losses", "overshoot"] | None,
        Field(
            description="packet trains, bursts, the round trips of slow start, a queue that stood, BBR's "
            "probes, or only drops at that rate"
        ),
    ]
    rate_interval_mbit_s: Bounds
    least_rate_mbit_s: Annotated[
        Known, Field(description="the highest rate that was seen, at most the path's")
    ]
    queue_bytes: Known
    queue_interval_bytes: Bounds
    loss: Annotated[
        Known,
        Field(description="loss events without a queue before them, per segment; with BBR lost segments"),
    ]
    loss_interval: Bounds
    loss_burst_segments: Annotated[
        Known, Field(description="lost one after another in such an event, in the mean; 1: single losses")
    ]
    loss_burst_interval: Bounds
    jitter_s: Annotated[Known, Field(description="scatter of round trips while no queue stood")]
    jitter_interval_s: Bounds


class TransferShape(_Shape):
    name: str
    direction: str | None
    seen_from: SeenFrom
    start_s: Known
    duration_s: Known
    bytes: int
    goodput_mbit_s: Known
    neighbours: Annotated[
        int, Field(ge=0, description="connections of other transfers that share a queue with it")
    ]
    findings: Annotated[list[FindingShape], Field(description="what cost most comes first")]
    cures: Annotated[list[CureShape], Field(description="the best first")]
    path: Annotated[PathShape, Field(description="the one that it took")]
    simulated: Annotated[
        SimulatedShape | None,
        Field(description="the transfer on the lab of its path; null: with --no-cures, or not known"),
    ]


class HostShape(_Shape):
    kernel: str
    sysctl: dict[str, str]
    counters: Annotated[dict[str, int], Field(description="of the stack, by how much they grew")]
    routes: list[dict[str, Any]]


class Report(_Shape):
    """One line of `bentpipe doctor --json`."""

    source: Annotated[Literal["run", "capture", "watch", "exec", "to"], Field(description="of what kind")]
    run: str | None = None
    capture: str | None = None
    watch: str | None = None
    exec: str | None = None
    to: str | None = None
    transfers: list[TransferShape]
    path: Annotated[PathShape | None, Field(description="of the transfer that tells most of it")]
    remarks: list[str] | None = None
    host: HostShape | None = None
    watched: dict[str, Any] | None = None
    status: Annotated[int | None, Field(description="of the command")] = None


def json_schema() -> dict[str, Any]:
    found = Report.model_json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **found,
        "title": "A line of bentpipe doctor --json",
    }
