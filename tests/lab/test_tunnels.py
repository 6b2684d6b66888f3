"""`[tunnel]`: what a lab may say of a coded tunnel, and what is said of one that cannot work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

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
    "titration of a ratio without a queue": (
        "[tunnel]\nredundancy = 0.1\ntitration = true\n" + WORK,
        ":3",
        "tunnel.titration",
        "true",
        "a path with a rate",
    ),
    "a workload that there is not": (
        '[tunnel]\ncarries = ["downlaod"]\n' + WORK,
        ":2",
        "tunnel.carries.0",
        '"downlaod"',
        'did you mean "download"? Workloads: "download"',
    ),
    "a tunnel that carries nothing": (
        "[tunnel]\ncarries = []\n" + WORK,
        ":2",
        "tunnel.carries",
        "none",
        'the names of workloads, such as "download"',
    ),
    "repairs beside exact repair": (
        '[tunnel]\nrepair = "exact"\nredundancy = 0.05\n' + WORK,
        ":3",
        "tunnel.redundancy",
        "0.05",
        'repair = "both"',
    ),
    "titration beside exact repair": (
        '[tunnel]\nrepair = "exact"\ntitration = true\n' + WORK,
        ":3",
        "tunnel.titration",
        "true",
        'repair = "both"',
    ),
    "a redundancy that rounds to 1": (
        "[tunnel]\nredundancy = 0.9999999999999999\n" + WORK,
        ":2",
        "tunnel.redundancy",
        "0.9999999999999999",
        "below 1",
    ),
    "another repair": ('[tunnel]\nrepair = "arq"\n' + WORK, ":2", "tunnel.repair", '"arq"', "exact"),
    "a window that is shorter than a round trip": (
        PATH + '[tunnel]\nrepair = "exact"\nwindow = 256\n' + WORK,
        ":7",
        "tunnel.window",
        "256",
        "expected 892 or more",
    ),
    "a round trip with more packets than can be kept": (
        PATH.replace("16 Mbit/s", "10 Gbit/s") + '[tunnel]\nrepair = "both"\n' + WORK,
        ":6",
        "tunnel.repair",
        '"both"',
        "at most 65535 are kept",
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


def test_titration_is_a_matter_of_the_pipes_queues_and_nothing_else_changes_them(lab_file: WriteLab) -> None:
    def pipes(redundancy: str) -> tuple[dict[str, Any], ...]:
        text = f'{PATH}[path.up]\nrate = "1 Mbit/s"\n[tunnel]\nredundancy = "{redundancy}"\n{WORK}'
        spec = next(iter(Lab.load(lab_file(text)).cells())).first.spec
        return tunnels.titrated_pipes(spec.tunnel, spec.path)

    (down, up), plain = pipes("titrated"), pipes("adaptive")
    assert down["queue"].pop("titration") == {"room_bytes": 50_000, "max_age_ns": 137_500_000}
    assert up["queue"].pop("titration") == {"room_bytes": 50_000, "max_age_ns": 137_500_000}
    assert (down, up) == plain


def test_a_fixed_number_of_repairs_can_be_titrated(lab_file: WriteLab) -> None:
    def spec(keys: str) -> Any:
        return Lab.load(lab_file(f"{PATH}[tunnel]\n{keys}\n{WORK}")).points()[0].spec.tunnel

    fixed, titrated = spec("redundancy = 0.1\ntitration = true"), spec('redundancy = "titrated"')
    assert fixed.redundancy == 0.1
    assert (fixed.down, fixed.up) == (titrated.down, titrated.up)
    assert spec("redundancy = 0.1").down is None


def test_exact_repair_keeps_the_packets_of_a_round_trip_and_waits_as_long_as_tcp_does(
    lab_file: WriteLab,
) -> None:
    tunnel = next(
        iter(Lab.load(lab_file(PATH + '[tunnel]\nrepair = "exact"\n' + WORK)).cells())
    ).first.spec.tunnel
    assert tunnel is not None
    assert tunnel.exact is not None
    assert (tunnel.redundancy, tunnel.hold_ns) == (0, 750_000_000)
    # 550 ms, an eighth of it, 50 ms until a report, and 50 ms in each queue, twice, at 1333 packets/s.
    assert tunnel.exact.kept_packets == 2 * 1025
    assert tunnel.exact.patience_ns == 68_750_000
    coded = next(iter(Lab.load(lab_file(PATH + "[tunnel]\n" + WORK)).cells())).first.spec.tunnel
    assert coded is not None
    assert coded.exact is None


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ('hold = "137 ms"', ()),
        ('hold = "138 ms"', ("138 ms", "137.5 ms")),
        ('repair = "exact"', ()),
        ('repair = "both"\nhold = "400 ms"', ("400 ms", "668.75 ms", "137.5 ms")),
    ],
)
def test_a_hold_beyond_what_rack_tolerates_or_below_a_round_trip_of_exact_repair_is_said(
    lab_file: WriteLab, keys: str, said: Sequence[str]
) -> None:
    found = tunnels.warning(list(Lab.load(lab_file(f"{PATH}[tunnel]\n{keys}\n{WORK}")).cells()))
    assert (found is not None) == bool(said)
    assert all(each in (found or "") for each in said)


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
