"""The whole lab file."""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, WithJsonSchema, model_validator

from bentpipe.lab.errors import FaultError
from bentpipe.lab.models.base import PositiveSpan, Probability, Rate, Size, Span, Table, doc
from bentpipe.lab.models.call import Call
from bentpipe.lab.models.gateway import Gateway
from bentpipe.lab.models.host import Host
from bentpipe.lab.models.interactive import Interactive
from bentpipe.lab.models.path import Path
from bentpipe.lab.models.split import Split
from bentpipe.lab.models.tunnel import Tunnel
from bentpipe.lab.models.workload import AnyWorkload, Bulk, Channels, Exec, Ping, name_of
from bentpipe.lab.published import published_keys
from bentpipe.lab.spec import tunnel_bytes
from bentpipe.lab.units import format_time
from bentpipe.words.faults import did_you_mean, shown

AS_IS = "as is"
"""The name of the plain lab among its variants."""


def _known_figures(key: str) -> str:
    known = published_keys()
    if key not in known:
        asked = did_you_mean(key, known)
        raise FaultError(
            f"{asked}Published figures: {', '.join(known)}",
            found=f"{shown(key)}, which has no published figures",
        )
    return key


class Cache(Table):
    """An HTTP cache at the near host."""

    size: Annotated[Size, doc("how much it can hold")]


class Near(Table):
    """A host between the client and the long path, on the client's side, such as a router with a cache."""

    rtt: Annotated[
        Span, doc("round trip between client and near", "a LAN adds next to nothing to a long path")
    ] = 0
    rate: Annotated[Rate | None, doc("rate between client and near", default="unlimited")] = None
    cache: Annotated[
        Cache | None, doc("an HTTP cache that the client's fetches go through", default="none")
    ] = None


class Limits(Table):
    """A `live` run that exceeds one of these limits is marked unreliable, with the reason."""

    lateness_p99: Annotated[
        Span,
        doc("99th percentile of how late packets left the path", "small compared with a long path's delay"),
    ] = 1_000_000
    unintended_loss: Annotated[
        int, Field(ge=0), doc("packets lost outside the model", "a single loss can halve a sender's window")
    ] = 0
    rate_error: Annotated[
        Probability,
        doc("relative error of the achieved rate while the shaper was busy", "twice what `live` aims at"),
    ] = 0.01
    host_stopped: Annotated[
        Span,
        doc("how long a program of a host was stopped, by a signal or a debugger"),
    ] = 0
    host_wait_share: Annotated[
        Probability,
        doc(
            "share of its time that a program of a host waited for a processor; iperf3, ping and "
            "`channels` have their own limits. Also the share of a transfer's time in which its sender "
            "waited for a program that was late to read",
            "the wait adds to the measured time; see [accuracy](accuracy.md)",
        ),
    ] = 0.1
    bulk_wait_share: Annotated[
        Probability,
        doc("the same for iperf3 and ping", "buffers absorb shorter waits"),
    ] = 0.5
    channels_wait_share: Annotated[
        Probability,
        doc("the same for the threads of `channels`", "other flows keep the path busy meanwhile"),
    ] = 0.55
    host_wait_max: Annotated[
        Span,
        doc(
            "longest time that a program waited for a processor, in one wait or within 100 ms",
            "streams were correct with waits of up to 115 ms; see [accuracy](accuracy.md)",
        ),
    ] = 250_000_000
    sampler_late: Annotated[
        Span,
        doc("longest delay of the sampler that watches the hosts; it does not see what happens meanwhile"),
    ] = 1_000_000_000


class Variant(Table):
    """A named set of changes, run at each point of the sweep."""

    name: Annotated[str, Field(min_length=1, max_length=80), doc("its name in results")]
    set: Annotated[dict[str, Any], doc("dotted keys of the lab, each with its value in this variant")]
    only: Annotated[
        dict[str, list[Any]] | None,
        doc(
            "axes of `[sweep]`, each with the values at which the variant is run",
            default="run at every point",
        ),
    ] = None


class LabFile(Table):
    """A lab: the path, the hosts, the work, and the changes to try."""

    title: Annotated[str | None, doc("a heading for reports", default="the file's name")] = None
    published: Annotated[
        Annotated[
            str,
            AfterValidator(_known_figures),
            WithJsonSchema({"type": "string", "enum": list(published_keys())}),
        ]
        | None,
        doc("published figures to print beside the lab's own", default="none"),
    ] = None
    seed: Annotated[
        int,
        Field(ge=0, le=2**62),
        doc("seed of the random numbers; repeat k of a point, counted from 0, uses seed + k"),
    ] = 1
    duration: Annotated[
        PositiveSpan | None,
        doc("the run ends at this time, or before it with `until`", default="until all work is done"),
    ] = None
    until: Annotated[
        Literal["duration", "done"] | None,
        doc(
            "`done`: the run ends when all work is done, and at `duration` at the latest; `duration`: the "
            "run ends at `duration`",
            default='`"duration"` if there is a `duration`, else `"done"`',
        ),
    ] = None
    repeat: Annotated[int, Field(ge=1, le=100_000), doc("runs per point, each with its own seed")] = 1
    path: Annotated[Path, doc("the long path", default="no delay, no limit")] = Path.model_construct()
    host: Annotated[Host, doc("TCP settings of all hosts", default="those of the kernel")] = (
        Host.model_construct()
    )
    client: Annotated[Host, doc("settings of the client that differ", default="as `[host]`")] = (
        Host.model_construct()
    )
    server: Annotated[Host, doc("settings of the server that differ", default="as `[host]`")] = (
        Host.model_construct()
    )
    near: Annotated[Near | None, doc("a host between the client and the path", default="none")] = None
    tunnel: Annotated[Tunnel | None, doc("a coded tunnel around the path", default="none")] = None
    split: Annotated[Split | None, doc("proxies at near and far that split TCP", default="none")] = None
    gateway: Annotated[Gateway | None, doc("bentpipe's gateways at near and far", default="none")] = None
    workload: Annotated[
        list[AnyWorkload], doc("what the hosts do; at least one is required", default="required")
    ] = Field(default_factory=list)
    sweep: Annotated[
        dict[str, list[Any] | dict[str, dict[str, Any]]] | None,
        doc(
            '`"path.rtt" = ["11 ms", "30 ms"]`: values to try ([sweeps and variants](#sweeps-and-variants))',
            default="none: one point",
        ),
    ] = None
    variant: Annotated[
        list[Variant] | None, doc("named changes to compare with the plain lab", default="none")
    ] = None
    limits: Annotated[Limits, doc("limits of a `live` run's own error", default="as below")] = (
        Limits.model_construct()
    )

    @model_validator(mode="after")
    def _work_fits(self) -> Self:
        if not self.workload:
            raise FaultError(
                'expected a [[workload]] table, such as kind = "bulk"', found="no workload", key="workload"
            )
        if not any(workload.enabled for workload in self.workload):
            raise FaultError(
                "expected at least one workload with enabled = true: a run needs something to do",
                found="false, and no other workload is enabled" if self.workload[1:] else "false",
                key=f"workload.{len(self.workload) - 1}.enabled",
            )
        names: set[str] = set()
        for index, workload in enumerate(self.workload):
            at = f"workload.{index}"
            name = name_of(workload)
            taken = (
                [f"{name}-down", f"{name}-up"]
                if isinstance(workload, Bulk) and workload.direction == "both"
                else [name]
            )
            clash = next((each for each in taken if each in names), None)
            if clash is not None:
                raise FaultError(
                    "expected another name", found=f'a second workload called "{clash}"', key=f"{at}.name"
                )
            names.update(taken)
            if not workload.enabled:
                continue
            if self.duration is not None and workload.start >= self.duration:
                raise FaultError(
                    f'expected a start before the run\'s end, "{format_time(self.duration)}"',
                    found=f'"{format_time(workload.start)}"',
                    key=f"{at}.start",
                )
            if (
                isinstance(workload, Bulk)
                and workload.size is None
                and workload.time is None
                and self.duration is not None
            ):
                left_ns = self.duration - workload.start - workload.omit
                if left_ns <= 0:
                    raise FaultError("expected an omit that ends before the run", key=f"{at}.omit")
            if self.duration is None and not _ends_itself(workload):
                raise FaultError(
                    f'expected a duration, such as "60 s": workload "{name}" has no end of its own',
                    found="none",
                    key="duration",
                )
        if self.until == "duration" and self.duration is None:
            raise FaultError(
                'expected a duration, such as "60 s", or until = "done"', found="none", key="duration"
            )
        return self

    @model_validator(mode="after")
    def _hosts_are_there(self) -> Self:
        for index, workload in enumerate(self.workload):
            if isinstance(workload, Exec) and workload.host == "near" and self.near is None:
                raise FaultError(
                    "expected a [near] table beside it, or another host",
                    found='"near", which this lab does not have',
                    key=f"workload.{index}.host",
                )
        return self

    @model_validator(mode="after")
    def _one_proxy_at_near(self) -> Self:
        if self.split is not None and self.near is not None and self.near.cache is not None:
            raise FaultError(
                "leave out one of them: a cache answers requests itself, a split passes connections on",
                found="a cache beside [split]",
                key="near.cache",
            )
        return self

    @model_validator(mode="after")
    def _gateway_alone(self) -> Self:
        if self.gateway is None:
            return self
        for name in ("near", "split", "tunnel"):
            if getattr(self, name) is not None:
                raise FaultError(
                    f"leave out one of them: a gateway sits where [{name}] would",
                    found=f"[{name}] beside [gateway]",
                    key="gateway",
                )
        if self.path.mtu < 576:
            raise FaultError("expected 576 or more beside [gateway]", key="path.mtu")
        if self.gateway.kind != "bentpipe" and "redundancy" in self.gateway.model_fields_set:
            raise FaultError(
                f'leave it out: "{self.gateway.kind}" has settings of its own (docs/labs/gateway-peers.md)',
                key="gateway.redundancy",
            )
        return self

    @model_validator(mode="after")
    def _one_ip_version(self) -> Self:
        client = self.client.ip or self.host.ip or 4
        server = self.server.ip or self.host.ip or 4
        if client != server:
            raise FaultError(
                "expected the same IP version at both ends",
                found=f"client {client} and server {server}",
                key="client.ip" if self.client.ip else "server.ip",
            )
        if client == 6 and self.path.mtu < 1280:
            raise FaultError("expected 1280 or more: IPv6 needs it (RFC 8200, section 5)", key="path.mtu")
        return self

    @model_validator(mode="after")
    def _what_is_carried_is_there(self) -> Self:
        key, carrier = ("tunnel", self.tunnel) if self.tunnel else ("gateway", self.gateway)
        carried = carrier and carrier.carries
        if carried is None:
            return self
        names = [name_of(workload) for workload in self.workload]
        if not carried:
            raise FaultError(
                f"expected the names of workloads, such as {shown(names[0])}; without the key all "
                "are carried",
                found="none",
                key=f"{key}.carries",
            )
        for index, name in enumerate(carried):
            if name not in names:
                raise FaultError(
                    f"{did_you_mean(name, names)}Workloads: {', '.join(map(shown, names))}",
                    found=shown(name),
                    key=f"{key}.carries.{index}",
                )
        return self

    @model_validator(mode="after")
    def _fits_in_the_tunnel(self) -> Self:
        if self.tunnel is None:
            return self
        ip = self.client.ip or self.host.ip or 4
        inner = self.path.mtu - tunnel_bytes(ip)
        if ip == 6 and inner < 1280:
            raise FaultError(
                f"expected {1280 + tunnel_bytes(6)} or more: IPv6 needs 1280 (RFC 8200, section 5), and the "
                f"tunnel's headers take {tunnel_bytes(6)}",
                key="path.mtu",
            )
        for index, workload in enumerate(self.workload):
            longest = inner - (48 if ip == 6 else 28)
            if isinstance(workload, Ping) and workload.enabled and workload.size > longest:
                raise FaultError(
                    f'expected at most "{longest} B": longer packets do not fit in the tunnel, which does '
                    "not fragment",
                    key=f"workload.{index}.size",
                )
        return self


def _ends_itself(workload: object) -> bool:
    if isinstance(workload, Channels):
        return False
    if isinstance(workload, Call):
        return workload.time is not None
    if isinstance(workload, Interactive):
        return workload.count is not None or workload.time is not None
    return not (isinstance(workload, Bulk) and workload.size is None and workload.time is None)
