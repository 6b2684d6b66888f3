"""bentpipe's gateways in the live engine: what the host process is told, and whether the machine kept up."""

from collections.abc import Mapping
from typing import Any

from bentpipe.engines import ports
from bentpipe.lab.spec import ControlLaw, GatewaySpec, RunSpec, WorkloadSpec
from bentpipe.words.digits import digits

_HANDSHAKE_ROUND_TRIPS = 4
"""QUIC's, the session's HELLO both ways, and one to spare."""
_LOST_NS = 3_000_000_000
"""QUIC sends a lost packet of the handshake again after one second, then after two."""
_LEAST_UDP_PAYLOAD = 1200
"""RFC 9000, section 14."""
_TAKE_UDP = ("hysteria2", "tuic")
"""Programs of others. kcptun has TCP alone."""
_HEADER_BYTES = {4: 28, 6: 48}
"""Of IP and UDP."""


def refusal(spec: RunSpec) -> str | None:
    """Why the live engine cannot have the gateways of this run."""
    if spec.gateway is None:
        return None
    least = _LEAST_UDP_PAYLOAD + _HEADER_BYTES[spec.client.ip]
    if spec.path.mtu < least:
        return (
            f"gateway: QUIC needs an MTU of {least} bytes or more, and path.mtu is {spec.path.mtu}; "
            "use `--engine sim`"
        )
    return ports.gateways_refusal(spec)


def readdresses(spec: RunSpec, work: WorkloadSpec) -> bool:
    """Whether the gateways open the work's connections and send its datagrams from far's own address."""
    gateway = spec.gateway
    if gateway is None or gateway.kind == "bentpipe" or work.name in gateway.beside:
        return False
    return work.kind != "call" or gateway.kind in _TAKE_UDP


def lead_ns(spec: RunSpec) -> int:
    """For so long before the earliest workload the gateways connect."""
    if spec.gateway is None:
        return 0
    return _HANDSHAKE_ROUND_TRIPS * spec.base_rtt_ns + (_LOST_NS if _loses(spec) else 0)


def _loses(spec: RunSpec) -> bool:
    return any(pipe.get("channel") for pipe in (spec.path.down, spec.path.up))


def rate(law: ControlLaw, bit_s: int | None) -> str | dict[str, int | None]:
    """A control law as `Rate` in crates/gateway has it."""
    return law if law == "fair" else {law: bit_s}


def setup(gateway: GatewaySpec, hosts: Mapping[str, Any], beside: Mapping[str, list[int]]) -> dict[str, Any]:
    """The field `gateway` of the request `setup`."""
    redundancy = gateway.redundancy
    return {
        "hosts": hosts,
        "port_of_others": None if gateway.kind == "bentpipe" else ports.OF_OTHERS,
        "others_take_udp": gateway.kind in _TAKE_UDP,
        **beside,
        "down_rate": rate(gateway.law_down, gateway.rate_down_bit_s),
        "up_rate": rate(gateway.law_up, gateway.rate_up_bit_s),
        "redundancy": redundancy if redundancy == "adaptive" else {"fixed": redundancy},
    }


def why_not(spec: RunSpec, errors: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """A sentence for each thing that the machine kept a gateway from. `errors`: as a record has them."""
    limits = spec.limits.model_dump()
    found = []
    for name, error in errors.items():
        established_s = error["established_s"]
        if established_s is None:
            found.append(f"The gateway at {name} had no session in the whole run.")
        elif established_s > 0:
            found.append(
                f"The gateway at {name} had its session {digits(established_s)} s after time 0, not before "
                "it; the path may have lost packets of the handshake."
            )
        lost, most = error["udp_overflow"], limits.get("unintended_loss")
        if most is not None and lost > most:
            found.append(
                f"The gateway at {name} read too late: {lost} UDP packets found its receive buffer full; "
                f"the limit is {most}."
            )
        share, limit = error["held_up_share"], limits.get("rate_error")
        if limit is not None and share > limit:
            found.append(
                f"The gateway at {name} was held up for {digits(share * 100, 2)} % of its time when it was "
                f"due to send; the limit is {digits(limit * 100, 2)} %."
            )
    return found
