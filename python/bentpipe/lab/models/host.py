"""`[host]`, `[client]` and `[server]`: the TCP of the two ends, in the words of Linux's sysctls.

A field left out is left as it is: in `live` the kernel's own default stands, in `sim` that of a Linux 6.x.
So a lab says only what it is about, and the settings in force are recorded with each run.
"""

import json
import re
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    WithJsonSchema,
    model_validator,
)

from bentpipe._core import congestion_controls, wrong_parameter
from bentpipe.lab.errors import FaultError
from bentpipe.lab.models.base import PositiveSize, PositiveSpan, Rate, Table, doc, tag
from bentpipe.words.faults import did_you_mean, shown

LINUX_CONTROLS = (
    *("bbr", "bic", "cdg", "cubic", "dctcp", "highspeed", "htcp", "hybla", "illinois", "lp", "nv", "reno"),
    *("scalable", "vegas", "veno", "westwood", "yeah"),
)
"""The ones that Linux has or has had, most of them as modules."""

CONGESTION_CONTROLS = tuple(dict.fromkeys((*congestion_controls(), *LINUX_CONTROLS)))
"""Each name once. The simulator's come first, then the others that Linux has."""

SYSCTL_FIELDS = {
    "net.ipv4.tcp_congestion_control": "congestion_control",
    "net.ipv4.tcp_sack": "sack",
    "net.ipv4.tcp_dsack": "dsack",
    "net.ipv4.tcp_window_scaling": "window_scaling",
    "net.ipv4.tcp_timestamps": "timestamps",
    "net.ipv4.tcp_ecn": "ecn",
    "net.ipv4.tcp_rmem": "tcp_rmem",
    "net.ipv4.tcp_wmem": "tcp_wmem",
    "net.ipv4.tcp_slow_start_after_idle": "slow_start_after_idle",
}
"""Settings that have a field of their own, by the sysctl that each becomes in `live`."""

_SYSCTL_NAME = re.compile(r"net(\.[A-Za-z0-9_-]+)+")
_NOT_NAMESPACED = ("net.core.rmem_max", "net.core.wmem_max", "net.core.rmem_default", "net.core.wmem_default",
                   "net.core.netdev_max_backlog", "net.ipv4.tcp_mem")  # fmt: skip


def _known_control(name: str) -> str:
    if name not in CONGESTION_CONTROLS:
        asked = did_you_mean(name, CONGESTION_CONTROLS)
        raise FaultError(
            f"{asked}expected one of {', '.join(CONGESTION_CONTROLS)}",
            found=f"the unknown name {shown(name)}",
        )
    if name == "fixed-rate":
        raise FaultError(
            'expected a table with its rate, such as { name = "fixed-rate", rate = "16 Mbit/s" }',
            found="the name alone",
        )
    return name


def _min_default_max(value: object) -> object:
    would_do = (
        "expected three whole numbers of bytes, as the sysctl has them: min, default, max, "
        "such as [4096, 131072, 6291456]"
    )
    if not isinstance(value, list) or len(value) != 3:
        raise FaultError(would_do)
    for number in value:
        if isinstance(number, bool) or not isinstance(number, int):
            raise FaultError(would_do)
        if not 1 <= number <= 2**31 - 1:
            raise FaultError(
                "expected bytes from 1 to 2147483647", found=f"{shown(number)}, which is out of range"
            )
    if not value[0] <= value[1] <= value[2]:
        raise FaultError("expected min, default, max in rising order")
    return (value[0], value[1], value[2])


def _sysctls(value: object) -> object:
    if not isinstance(value, dict):
        raise FaultError('expected a table of settings, such as { "net.ipv4.tcp_mtu_probing" = "1" }')
    settings: dict[str, str] = {}
    for name, setting in value.items():
        if not _SYSCTL_NAME.fullmatch(name):
            raise FaultError(
                'expected a setting of the network, such as "net.ipv4.tcp_mtu_probing": only what '
                "belongs to a network "
                "namespace is ever set",
                found=f"the setting {shown(name)}",
                key=name,
            )
        if name in SYSCTL_FIELDS:
            raise FaultError(
                f'expected the key "{SYSCTL_FIELDS[name]}" beside "sysctl"',
                found="a setting with its own key",
                key=name,
            )
        if name in _NOT_NAMESPACED:
            raise FaultError(
                "leave it out: it belongs to the whole machine and not to a namespace, and "
                "nothing outside is "
                "changed (tcp_rmem and tcp_wmem govern the buffers that the kernel sizes itself)",
                found=f"the setting {shown(name)}",
                key=name,
            )
        if isinstance(setting, bool) or not isinstance(setting, str | int):
            raise FaultError('expected a text or a whole number, such as "1"', key=name)
        text = str(setting)
        if not text.isprintable():
            raise FaultError("expected one line of text", key=name)
        settings[name] = text
    return settings


_ControlName = Annotated[
    str, AfterValidator(_known_control), WithJsonSchema({"type": "string", "enum": list(CONGESTION_CONTROLS)})
]


class OtherControl(Table):
    """Any other congestion control. Its parameters, plain numbers and texts, are those that its file in
    crates/tcp asks for, and checked there.
    """

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, float | str]

    name: Annotated[_ControlName, doc("the congestion control")]

    @model_validator(mode="before")
    @classmethod
    def _named(cls, table: object) -> object:
        name = table.get("name") if isinstance(table, dict) else None
        if name is None:
            raise FaultError('expected the name of a congestion control, such as "cubic"', found="no name")
        if isinstance(name, str):
            _known_control(name)
        return table

    @model_validator(mode="after")
    def _checked_by_the_simulator(self) -> Self:
        given = self.__pydantic_extra__
        if given and self.name not in congestion_controls():
            raise FaultError(
                f"leave it out: bentpipe knows no parameter of {self.name!r}",
                found="a parameter",
                key=next(iter(given)),
            )
        if wrong := wrong_parameter(json.dumps({"name": self.name, **given})) if given else None:
            parameter, found, expected = wrong
            raise FaultError(f"expected {expected}", found=found, key=parameter)
        return self


_SlowStart = Literal["standard", "hystart", "hystart++", "search", "careful-resume"]


class _WithSlowStart(Table):
    """Parameters for Careful Resume."""

    saved_cwnd: Annotated[
        PositiveSize | None,
        Field(ge=1000),
        doc(
            "with `careful-resume`: how much an earlier connection could send per RTT",
            default="the path's BDP",
        ),
    ] = None
    saved_rtt: Annotated[
        PositiveSpan | None,
        doc("with `careful-resume`: the smallest RTT of that connection", default="the path's base RTT"),
    ] = None

    @model_validator(mode="after")
    def _saved_for_careful_resume(self) -> Self:
        if getattr(self, "slow_start", None) != "careful-resume":
            for key in ("saved_cwnd", "saved_rtt"):
                if getattr(self, key) is not None:
                    raise FaultError(
                        'expected slow_start = "careful-resume" beside it', found=f"`{key}`", key=key
                    )
        return self


class CubicControl(_WithSlowStart):
    """CUBIC (RFC 9438) with parameters. `sim` only: a kernel has them for the whole machine, if at all."""

    name: Annotated[Literal["cubic"], doc("CUBIC")]
    slow_start: Annotated[
        _SlowStart,
        doc(
            "what may end slow start before a loss: `hystart` as in Linux, `hystart++` (RFC 9406), "
            "`search` (draft-chung-ccwg-search), or nothing (`standard`). `careful-resume` (RFC 9959) has "
            "HyStart, and jumps to half of what an earlier connection could use",
            "as in Linux",
        ),
    ] = "hystart"
    beta: Annotated[
        float,
        Field(ge=0.1, le=0.95),
        doc("share of the window that remains after a loss", "as in Linux and RFC 9438"),
    ] = 0.7


class RenoControl(_WithSlowStart):
    """Reno (RFC 5681) with parameters. `sim` only."""

    name: Annotated[Literal["reno"], doc("Reno")]
    slow_start: Annotated[
        _SlowStart,
        doc("what may end slow start before a loss, as for CUBIC", "as in Linux"),
    ] = "standard"


class FixedRateControl(Table):
    """A fixed rate that losses do not change. `sim` only: Linux has no such congestion control."""

    name: Annotated[Literal["fixed-rate"], doc("a fixed rate")]
    rate: Annotated[
        Rate,
        Field(ge=1000, le=10**12),
        doc("payload that is sent per second, also what is sent again"),
    ]


def _control_branch(value: object) -> str:
    if not isinstance(value, dict):
        return tag("name")
    name = value.get("name")
    return tag(name if name in ("cubic", "reno", "fixed-rate") else "other")


CongestionControl = Annotated[
    Annotated[_ControlName, Tag(tag("name"))]
    | Annotated[CubicControl, Tag(tag("cubic"))]
    | Annotated[RenoControl, Tag(tag("reno"))]
    | Annotated[FixedRateControl, Tag(tag("fixed-rate"))]
    | Annotated[OtherControl, Tag(tag("other"))],
    Discriminator(_control_branch),
]
AnyControl = str | CubicControl | RenoControl | FixedRateControl | OtherControl


def control_name(control: AnyControl) -> str:
    return control if isinstance(control, str) else control.name


def control_parameters(control: AnyControl | None) -> dict[str, str | float]:
    """Those that differ from Linux's."""
    if control is None or isinstance(control, str):
        return {}
    fields = type(control).model_fields
    values = {name: getattr(control, name) for name in fields if name != "name"}
    changed = {name: value for name, value in values.items() if value != fields[name].default}
    return changed | (control.model_extra or {})


MinDefaultMax = Annotated[
    tuple[int, int, int],
    BeforeValidator(_min_default_max),
    WithJsonSchema(
        {"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 3, "maxItems": 3}
    ),
]
Sysctls = Annotated[
    dict[str, str],
    BeforeValidator(_sysctls),
    WithJsonSchema({"type": "object", "additionalProperties": {"type": ["string", "integer"]}}),
]
_KERNEL = "the kernel's"


class Host(Table):
    """TCP settings. `[host]` holds for all hosts; `[client]` and `[server]` take precedence."""

    congestion_control: Annotated[
        CongestionControl | None,
        doc(
            "congestion control for sending, by its name in the kernel; or a table with its parameters, "
            'such as `{ name = "cubic", slow_start = "search" }`',
            "Linux's own default; it is always set, because machines may have another one",
            default='"cubic"',
        ),
    ] = None
    sack: Annotated[bool | None, doc("selective acknowledgements (RFC 2018)", default=_KERNEL)] = None
    dsack: Annotated[bool | None, doc("duplicate SACK (RFC 2883)", default=_KERNEL)] = None
    window_scaling: Annotated[
        bool | None,
        doc("window scaling (RFC 7323); without it a window is at most 64 kB", default=_KERNEL),
    ] = None
    timestamps: Annotated[bool | None, doc("TCP timestamps (RFC 7323)", default=_KERNEL)] = None
    ecn: Annotated[
        bool | None,
        doc("ask for ECN on outgoing connections, and accept it (RFC 3168)", default=_KERNEL),
    ] = None
    tcp_rmem: Annotated[
        MinDefaultMax | None,
        doc(
            "receive buffer: min, default and max in bytes, without units, as in the sysctl",
            default=_KERNEL,
        ),
    ] = None
    tcp_wmem: Annotated[
        MinDefaultMax | None,
        doc(
            "send buffer: min, default and max in bytes, without units, as in the sysctl",
            default=_KERNEL,
        ),
    ] = None
    initcwnd: Annotated[
        int | None,
        Field(ge=1, le=1000),
        doc("initial congestion window in segments", "RFC 6928", default="10, the kernel's"),
    ] = None
    initrwnd: Annotated[
        int | None,
        Field(ge=1, le=1000),
        doc("initial receive window in segments", default=_KERNEL),
    ] = None
    open_receive_window: Annotated[
        PositiveSize | None,
        doc(
            "receive window from the handshake on, as a QUIC receiver may have it; `sim` only, because no "
            "setting opens Linux's first window beyond 64 kB",
            default=_KERNEL,
        ),
    ] = None
    slow_start_after_idle: Annotated[
        bool | None,
        doc("shrink the congestion window after a pause (RFC 2861)", default=_KERNEL),
    ] = None
    ip: Annotated[
        Literal[4, 6] | None,
        doc("IP version of the workloads; the same at both ends", default="`4`"),
    ] = None
    sysctl: Annotated[
        Sysctls | None,
        doc(
            "any other sysctl of a network namespace; `live` only",
            "with it the kernel does not carry measurements from one connection to the next",
            default="`net.ipv4.tcp_no_metrics_save = 1`",
        ),
    ] = None
