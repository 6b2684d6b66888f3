"""The buffers of the hosts' TCP, by the windows that bound a transfer, as keys of a lab.

Linux offers about 0.62 of a receive buffer (reference: measured with kernel 6.18), and keeps about 2/3 of a
send buffer in flight.
"""

from typing import Any

import numpy as np

from bentpipe.doctor.diagnosis import Diagnosis

_WINDOW_OF_BUFFER = 0.62
_FLIGHT_OF_BUFFER = 2 / 3
_BUFFER_DEFAULT = {"tcp_rmem": (4096, 131_072), "tcp_wmem": (4096, 16_384)}


def buffers_seen(of: Diagnosis, sender: str, receiver: str) -> dict[str, Any]:
    """Tables of a lab by their hosts. `sender`, `receiver`: which is `client` and which `server`."""
    found: dict[str, Any] = {}
    kinds = {each.kind for each in of.findings}
    if any(each.evidence.get("option") == "window_scaling" for each in of.findings):
        found[receiver] = {"window_scaling": False}
    for host, offered in ((sender, of.evidence.sender_offered), (receiver, of.evidence.receiver_offered)):
        if offered.sack is False:
            found.setdefault(host, {})["sack"] = False
    if "receiver-window" in kinds:
        window = float(np.nanmax(of.view["rwnd_bytes"]))
        most = of.evidence.rcvbuf_most_bytes or round(window / _WINDOW_OF_BUFFER)
        found.setdefault(receiver, {})["tcp_rmem"] = _three("tcp_rmem", most)
    is_known = of.evidence.sndbuf_most_bytes is not None or of.view.knows("sndbuf_bytes")
    # Elsewhere a send buffer that is not the first of the limits may be none.
    if "send-buffer" in kinds and (is_known or of.findings[0].kind == "send-buffer"):
        found[sender] = {"tcp_wmem": _three("tcp_wmem", _send_buffer(of))}
    return found


def buffers_of_hosts(of: Diagnosis, sender: str, receiver: str) -> dict[str, Any]:
    """The same, and what a host allows where no window bound."""
    found = buffers_seen(of, sender, receiver)
    for host, key, most in (
        (sender, "tcp_wmem", of.evidence.sndbuf_most_bytes),
        (receiver, "tcp_rmem", of.evidence.rcvbuf_most_bytes),
    ):
        if most and key not in found.get(host, {}):
            found.setdefault(host, {})[key] = _three(key, most)
    return found


def _send_buffer(of: Diagnosis) -> int:
    """As the sender's host says; elsewhere the buffer that keeps so much in flight."""
    if of.evidence.sndbuf_most_bytes:
        return of.evidence.sndbuf_most_bytes
    if of.view.knows("sndbuf_bytes"):
        return round(float(np.nanmax(of.view["sndbuf_bytes"])))
    finding = next(each for each in of.findings if each.kind == "send-buffer")
    return round((finding.evidence.get("in_flight_bytes") or 0.0) / _FLIGHT_OF_BUFFER)


def _three(name: str, most: int) -> list[int]:
    least, usual = _BUFFER_DEFAULT[name]
    most = max(most, least)
    return [least, min(usual, most), most]
