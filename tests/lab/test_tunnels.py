"""`[tunnel]`: what a lab may say of a coded tunnel, and what is said of one that cannot work."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from bentpipe.lab import tunnels
from bentpipe.lab.load import Lab

from .conftest import WORK
from .wrong import WriteLab, Wrong, assert_told

PATH = '[path]\nrtt = "550 ms"\nrate = "16 Mbit/s"\nqueue = "100 kB"\n'
WRONG: Mapping[str, Wrong] = {
    "another kind": ('[tunnel]\nkind = "split"\n' + WORK, ":2", "tunnel.kind", '"split"', '"coded"'),
    "as many repairs as packets": (
        "[tunnel]\nredundancy = 1.0\n" + WORK,
        ":2",
        "tunnel.redundancy",
        "1.0, which is out of range",
        "below 1",
    ),
    "a redundancy in percent": (
        '[tunnel]\nredundancy = "10 %"\n' + WORK,
        ":2",
        "tunnel.redundancy",
        '"10 %"',
        "repairs per packet, such as 0.1",
    ),
    "titration without a queue": (
        '[tunnel]\nredundancy = "titrated"\n' + WORK,
        ":2",
        "tunnel.redundancy",
        '"titrated"',
        "a path with a rate",
    ),
    "no window": ("[tunnel]\nwindow = 0\n" + WORK, ":2", "tunnel.window", "0", "1"),
    "a window beyond the code's": ("[tunnel]\nwindow = 65536\n" + WORK, ":2", "tunnel.window", "65536", ""),
    "a hold without a unit": ("[tunnel]\nhold = 100\n" + WORK, ":2", "tunnel.hold", "100", "time"),
    "a ping that does not fit in": (
        '[[workload]]\nkind = "ping"\nsize = "1435 B"\n[tunnel]\n' + WORK,
        ":3",
        "workload.ping.size",
        '"1435 B"',
        '"1434 B"',
    ),
    "IPv6 without room for its least packet": (
        "[path]\nmtu = 1337\n[host]\nip = 6\n[tunnel]\n" + WORK,
        ":2",
        "path.mtu",
        "1337",
        "expected 1338 or more",
    ),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_a_tunnel_that_cannot_work_is_an_error(wrong: Wrong, lab_file: WriteLab) -> None:
    assert_told(wrong, lab_file)


def test_a_lab_without_a_tunnel_has_none(lab_file: WriteLab) -> None:
    spec = next(iter(Lab.load(lab_file(PATH + WORK)).cells())).first.spec
    assert spec.tunnel is None
    assert spec.host_mtu == 1500


def test_a_tunnel_lowers_the_mtu_of_the_hosts_and_holds_for_a_quarter_of_the_round_trip(
    lab_file: WriteLab,
) -> None:
    spec = next(iter(Lab.load(lab_file(PATH + "[tunnel]\n" + WORK)).cells())).first.spec
    assert spec.tunnel is not None
    assert (spec.path.mtu, spec.host_mtu) == (1500, 1462)
    assert spec.tunnel.hold_ns == 137_500_000
    assert spec.tunnel.redundancy == "adaptive"


@pytest.mark.parametrize(
    ("queue", "queue_bytes"),
    [("100 kB", 50_000), ("100 packets", 75_000), ("50 ms", 50_000), ("1 bdp", 550_000)],
)
def test_a_titrated_repair_enters_a_queue_that_is_at_most_half_full(
    lab_file: WriteLab, queue: str, queue_bytes: int
) -> None:
    text = PATH.replace("100 kB", queue) + '[tunnel]\nredundancy = "titrated"\n' + WORK
    tunnel = next(iter(Lab.load(lab_file(text)).cells())).first.spec.tunnel
    assert tunnel is not None
    assert tunnel.down is not None
    assert (tunnel.down.rate_bit_s, tunnel.down.queue_bytes) == (16_000_000, queue_bytes)


@pytest.mark.parametrize(
    ("rtt", "hold", "waits"), [("550 ms", "760 ms", "750 ms"), ("40 ms", "100 ms", "80 ms")]
)
def test_a_hold_that_is_longer_than_tcp_waits_is_said_with_both_times(
    lab_file: WriteLab, rtt: str, hold: str, waits: str
) -> None:
    path = PATH.replace("550 ms", rtt)
    found = tunnels.warning(list(Lab.load(lab_file(f'{path}[tunnel]\nhold = "{hold}"\n{WORK}')).cells()))
    assert found is not None
    assert hold in found
    assert waits in found
    assert tunnels.warning(list(Lab.load(lab_file(f"{path}[tunnel]\n{WORK}")).cells())) is None


def test_a_variant_may_have_a_tunnel(tmp_path: Path) -> None:
    lab = tmp_path / "lab.toml"
    lab.write_text(PATH + WORK + '[[variant]]\nname = "coded"\nset = { "tunnel.redundancy" = 0.1 }\n')
    specs = [cell.first.spec for cell in Lab.load(lab).cells()]
    assert [spec.tunnel is not None for spec in specs] == [False, True]
