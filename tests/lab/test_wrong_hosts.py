"""Wrong hosts: congestion controls, buffers, sysctls, IP versions."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from bentpipe._core import congestion_controls
from bentpipe.lab.models.host import CONGESTION_CONTROLS, LINUX_CONTROLS

from .conftest import WORK
from .wrong import WriteLab, Wrong, assert_told

WRONG: Mapping[str, Wrong] = {
    "a command at a host that is not there": (
        WORK + '[[workload]]\nkind = "exec"\ncommand = ["true"]\nhost = "near"\n',
        ":8",
        "workload.exec.host",
        '"near", which this lab does not have',
        "a [near] table",
    ),
    "an unknown congestion control": (
        '[host]\ncongestion_control = "cubik"\n' + WORK,
        ":2",
        "host.congestion_control",
        '"cubik"',
        '"cubic"?',
    ),
    "an unknown congestion control in a table": (
        '[host]\ncongestion_control = { name = "cubik", beta = 0.5 }\n' + WORK,
        ":2",
        "host.congestion_control",
        '"cubik"',
        '"cubic"?',
    ),
    "a congestion control without a name": (
        "[host]\ncongestion_control = { beta = 0.5 }\n" + WORK,
        ":2",
        "host.congestion_control",
        "no name",
        'such as "cubic"',
    ),
    "a congestion control that is a number": (
        "[host]\ncongestion_control = 5\n" + WORK,
        ":2",
        "host.congestion_control",
        "5",
        "expected a text",
    ),
    "an unknown parameter of a congestion control": (
        '[host]\ncongestion_control = { name = "cubic", slowstart = "search" }\n' + WORK,
        ":2",
        "host.congestion_control.slowstart",
        "unknown",
        'did you mean "slow_start"? Keys here: beta, name, saved_cwnd, saved_rtt, slow_start',
    ),
    "a parameter of another congestion control": (
        '[host]\ncongestion_control = { name = "reno", beta = 0.5 }\n' + WORK,
        ":2",
        "host.congestion_control.beta",
        "unknown",
        "keys here: name, saved_cwnd, saved_rtt, slow_start",
    ),
    "a parameter of a congestion control that takes none": (
        '[host]\ncongestion_control = { name = "bbr", beta = 0.5 }\n' + WORK,
        ":2",
        "host.congestion_control.beta",
        "an unknown parameter",
        "expected no parameter",
    ),
    "a parameter that is neither a number nor a text": (
        '[host]\ncongestion_control = { name = "bbr", beta = [1] }\n' + WORK,
        ":2",
        "host.congestion_control.beta",
        "[1]",
        "expected",
    ),
    "a parameter of a congestion control that only a kernel has": (
        '[host]\ncongestion_control = { name = "yeah", alpha = 2 }\n' + WORK,
        ":2",
        "host.congestion_control.alpha",
        "a parameter",
        "leave it out",
    ),
    "a slow start that is not there": (
        '[host]\ncongestion_control = { name = "cubic", slow_start = "fast" }\n' + WORK,
        ":2",
        "host.congestion_control.slow_start",
        '"fast"',
        '"hystart++"',
    ),
    "a saved window without Careful Resume": (
        '[host]\ncongestion_control = { name = "cubic", saved_cwnd = "1 MB" }\n' + WORK,
        ":2",
        "host.congestion_control.saved_cwnd",
        "`saved_cwnd`",
        'expected slow_start = "careful-resume" beside it',
    ),
    "a beta out of range": (
        '[host]\ncongestion_control = { name = "cubic", beta = 1.5 }\n' + WORK,
        ":2",
        "host.congestion_control.beta",
        "1.5, which is out of range",
        "at most 0.95",
    ),
    "a fixed rate without its rate": (
        '[host]\ncongestion_control = "fixed-rate"\n' + WORK,
        ":2",
        "host.congestion_control",
        "the name alone",
        'rate = "16 Mbit/s"',
    ),
    "a fixed rate that is a number": (
        '[host]\ncongestion_control = { name = "fixed-rate", rate = 16 }\n' + WORK,
        ":2",
        "host.congestion_control.rate",
        "16",
        '"16 Mbit/s"',
    ),
    "buffers out of order": (
        "[server]\ntcp_rmem = [9000, 8000, 7000]\n" + WORK,
        ":2",
        "server.tcp_rmem",
        "[9000, 8000, 7000]",
        "rising order",
    ),
    "buffers with units": (
        '[host]\ntcp_wmem = ["4 kB", "16 kB", "4 MB"]\n' + WORK,
        ":2",
        "host.tcp_wmem",
        '"4 MB"',
        "whole numbers of bytes",
    ),
    "a sysctl that has a key": (
        '[host.sysctl]\n"net.ipv4.tcp_mtu_probing" = "1"\n"net.ipv4.tcp_sack" = "1"\n' + WORK,
        ":3",
        "host.sysctl.net.ipv4.tcp_sack",
        "its own key",
        '"sack"',
    ),
    "a sysctl beyond the network": (
        '[host]\nsysctl = { "kernel.panic" = "1" }\n' + WORK,
        ":2",
        "kernel.panic",
        "the setting",
        "network namespace",
    ),
    "a sysctl of the whole machine": (
        '[host]\nsysctl = { "net.core.rmem_max" = "1" }\n' + WORK,
        ":2",
        "net.core.rmem_max",
        "the setting",
        "tcp_rmem",
    ),
    "a sysctl that leaves its folder": (
        '[host]\nsysctl = { "net/../kernel/panic" = "1" }\n' + WORK,
        ":2",
        "host.sysctl",
        "the setting",
        "network namespace",
    ),
    "two IP versions": (
        "[client]\nip = 6\n" + WORK,
        ":2",
        "client.ip",
        "client 6 and server 4",
        "the same IP version",
    ),
    "a congestion control of a transfer that is not known": (
        WORK + 'congestion_control = "cubik"\n',
        ":5",
        "workload.download.congestion_control",
        '"cubik"',
        '"cubic"?',
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_host_is_told_where_what_and_what_would_do(name: str, lab_file: WriteLab) -> None:
    assert_told(WRONG[name], lab_file)


def test_a_congestion_control_that_both_sim_and_linux_have_is_listed_once() -> None:
    assert set(congestion_controls()) & set(LINUX_CONTROLS)
    assert len(CONGESTION_CONTROLS) == len(set(CONGESTION_CONTROLS))
    assert set(CONGESTION_CONTROLS) == {*congestion_controls(), *LINUX_CONTROLS}
