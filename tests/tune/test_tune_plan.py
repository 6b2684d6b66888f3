"""What a plan would set: never less than now, by the path's rate or the doctor's simulation."""

import json
from pathlib import Path
from typing import Any

import pytest

from bentpipe.errors import TuneError
from bentpipe.tune import reasons
from bentpipe.tune.machine import Machine
from bentpipe.tune.path import Role, TunedPath, from_report
from bentpipe.tune.plan import Plan, plan
from bentpipe.tune.settings import Route, Sysctl, route_name, with_first_windows
from bentpipe.tune.words import plan_lines

SYSCTLS = {
    "net/core/rmem_max": "4194304",
    "net/core/wmem_max": "4194304",
    "net/ipv4/tcp_rmem": "4096\t131072\t163840",
    "net/ipv4/tcp_wmem": "4096\t16384\t4194304",
    "net/ipv4/tcp_mem": "1000\t2000\t30000",
    "net/ipv4/tcp_congestion_control": "cubic",
    "net/ipv4/tcp_available_congestion_control": "reno cubic bbr",
    "net/ipv4/tcp_window_scaling": "1",
    "net/ipv4/tcp_sack": "0",
    "net/ipv4/tcp_timestamps": "1",
    "net/ipv4/tcp_moderate_rcvbuf": "1",
    "net/ipv4/tcp_mtu_probing": "0",
    "net/ipv4/tcp_slow_start_after_idle": "1",
    "net/ipv4/tcp_notsent_lowat": "4294967295",
}


def report(**more: Any) -> dict[str, Any]:
    finding = {"kind": "receiver-window", "share": 0.95, "because": "the receive window was full"}
    cure = {
        "change": {"client.tcp_rmem": [4096, 131072, 655360]},
        "goodput_mbit_s": 8.0,
        "interval": [7.9, None],
    }
    transfer = {
        "name": "download",
        "direction": "down",
        "seen_from": "receiver",
        "bytes": 5_000_000,
        "goodput_mbit_s": 2.0,
        "findings": [finding],
        "cures": [cure],
        **more,
    }
    return {"transfers": [transfer], "path": {"rtt_s": 0.411, "rate_mbit_s": None, "loss": 0.0}}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    for name, value in SYSCTLS.items():
        (tmp_path / "proc" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "proc" / name).write_text(f"{value}\n")
    monkeypatch.setattr(Machine, "routes", lambda _self, _address: [])
    return Machine(tmp_path / "proc", tmp_path / "modules")


def wanted(of: Plan) -> dict[str, str]:
    return {each.setting.name: " ".join(each.wanted.split()) for each in of.chosen}


def by_report(tmp_path: Path, document: Any, **more: Any) -> TunedPath:
    file = tmp_path / "report.json"
    file.write_text(json.dumps(document))
    return from_report(file, more.get("transfer"), more.get("here"))


def test_buffers_follow_the_bandwidth_delay_product(machine: Machine) -> None:
    found = wanted(plan(TunedPath("both", 200e6, 0.3), machine))
    assert found["net.ipv4.tcp_rmem"] == f"4096 131072 {2 * 7_500_000}"
    assert found["net.ipv4.tcp_wmem"] == f"4096 16384 {int(3.2 * 7_500_000)}"
    assert found["net.core.rmem_max"] == "7500000"


@pytest.mark.parametrize("rate_bit_s", [1e3, 1e6, 1e8, 1e12])
def test_nothing_is_ever_made_smaller(machine: Machine, rate_bit_s: float) -> None:
    for each in plan(TunedPath("both", rate_bit_s, 0.5), machine).changes:
        if each.setting.name.endswith(("mem", "mem_max")):
            pairs = zip(map(int, each.now.split()), map(int, each.wanted.split()), strict=True)
            assert all(now <= then < 2**31 for now, then in pairs)


def test_what_is_off_is_switched_on_and_what_costs_others_is_only_offered(machine: Machine) -> None:
    found = plan(TunedPath("sender", 20e6, 0.3), machine)
    assert wanted(found)["net.ipv4.tcp_sack"] == "1"
    assert {"bbr", "idle", "lowat"} <= {each.key for each in found.offered}
    assert "bbr" not in {each.key for each in found.chosen}
    chosen = plan(TunedPath("sender", 20e6, 0.3), machine, add=["bbr"], leave=["sack"])
    assert {"bbr"} <= {each.key for each in chosen.chosen}
    assert "sack" in {each.key for each in chosen.offered}


def test_a_report_gives_the_simulated_size_and_its_prediction(tmp_path: Path, machine: Machine) -> None:
    found = plan(by_report(tmp_path, report()), machine)
    (change,) = [each for each in found.chosen if each.key == "receive-buffer"]
    assert change.wanted.split() == ["4096", "131072", "655360"]
    assert change.prediction is not None
    assert change.prediction.goodput_bit_s == 8e6
    assert not {each.key for each in found.changes} & {"send-buffer", "bbr", "idle"}


@pytest.mark.parametrize(
    ("source", "wanted"), [("start", 655_360), ("bursts", 655_360), ("queue", 2_055_000)]
)
def test_an_inferred_rate_does_not_size_a_buffer_beyond_what_was_simulated(
    tmp_path: Path, machine: Machine, source: str, wanted: int
) -> None:
    told = report()
    told["path"] |= {"rate_mbit_s": 20.0, "rate_from": source}
    found = plan(by_report(tmp_path, told), machine)
    (change,) = [each for each in found.chosen if each.key == "receive-buffer"]
    assert int(change.wanted.split()[2]) == wanted
    assert ("--rate" in change.why) == (source != "queue")
    said = reasons.plain("\n".join(plan_lines(found, 80)))
    assert ("rate about 20 Mbit/s" in said) == (source != "queue")


def test_a_change_of_one_setting_goes_before_one_of_several(tmp_path: Path) -> None:
    (alone,) = report()["transfers"][0]["cures"]
    both = {**alone, "change": {**alone["change"], "server.tcp_wmem": [1, 2, 3]}, "goodput_mbit_s": 9.0}
    path = by_report(tmp_path, report(cures=[both, alone]))
    assert path.predictions["receiver.tcp_rmem"].goodput_bit_s == 8e6


def test_the_sender_is_told_what_the_receiver_has_to_set(tmp_path: Path, machine: Machine) -> None:
    found = plan(by_report(tmp_path, report(seen_from="sender")), machine)
    assert "net.ipv4.tcp_rmem" not in wanted(found)
    assert any("tcp_rmem = 4096 131072 655360" in each for each in found.elsewhere)


def test_loss_asks_for_bbr_only_where_it_limits(tmp_path: Path, machine: Machine) -> None:
    loss = {"kind": "random-loss", "share": 0.8, "because": "packets were lost"}
    path = by_report(tmp_path, report(seen_from="sender", findings=[loss], cures=[]))
    assert wanted(plan(path, machine))["net.ipv4.tcp_congestion_control"] == "bbr"
    (machine.proc / "net/ipv4/tcp_available_congestion_control").write_text("reno cubic\n")
    without = plan(path, machine)
    assert "net.ipv4.tcp_congestion_control" not in wanted(without)
    assert any("bbr is neither loaded" in each for each in without.impossible)


def test_what_a_namespace_may_not_set_is_said(machine: Machine) -> None:
    (machine.proc / "net/core/rmem_max").chmod(0o444)
    (machine.proc / "net/core/wmem_max").unlink()
    found = plan(TunedPath("both", 200e6, 0.3), machine)
    assert not any(each.setting.name.startswith("net.core.") for each in found.changes)
    assert any("cannot be set from this network namespace" in each for each in found.impossible)
    assert any("not visible in this network namespace" in each for each in found.impossible)


def test_a_finding_without_its_reason_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TuneError, match="not a report"):
        by_report(tmp_path, report(findings=[{"kind": "random-loss", "share": 1.0}]))


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"transfers": 7}', '{"transfers": [{"name": 1}]}', "no JSON"]
)
def test_a_file_that_is_no_report_is_an_error(tmp_path: Path, content: str) -> None:
    (tmp_path / "other.json").write_text(content)
    with pytest.raises(TuneError, match="not a report"):
        from_report(tmp_path / "other.json", None, None)


def test_a_capture_between_the_ends_asks_which_end_this_host_is(tmp_path: Path) -> None:
    between = report(seen_from="between")
    with pytest.raises(TuneError, match="--here"):
        by_report(tmp_path, between)
    assert by_report(tmp_path, between, here="sender").sends
    with pytest.raises(TuneError, match="found no transfer 7; transfers here: download"):
        by_report(tmp_path, between, transfer="7")


def test_a_key_that_is_not_known_is_named_with_the_nearest(machine: Machine) -> None:
    with pytest.raises(TuneError, match="did you mean lowat"):
        plan(TunedPath("both", 20e6, 0.3), machine, add=["lowatt"])


@pytest.mark.parametrize(
    ("here", "add", "said"),
    [
        ("both", ["first-window"], "--with first-window: there is no default route"),
        ("both", ["fq"], "--with fq: no route names a device"),
        ("both", ["send-limit"], "--with send-limit: net.core.wmem_max is not visible"),
        ("receiver", ["bbr"], "--with bbr: it is for a host that sends, and this host only receives"),
        ("receiver", ["fq"], "--with fq: it is for a host that sends"),
        ("sender", ["receive-buffer"], "it is for a host that receives, and this host only sends"),
    ],
)
def test_a_change_that_cannot_be_offered_is_refused_with_the_reason(
    machine: Machine, here: Role, add: list[str], said: str
) -> None:
    (machine.proc / "net/core/wmem_max").unlink()
    with pytest.raises(TuneError, match=said):
        plan(TunedPath(here, 200e6, 0.3), machine, add=add)


def test_a_buffer_of_unknown_size_cannot_be_added(machine: Machine) -> None:
    with pytest.raises(TuneError, match=r"--with receive-buffer: neither the path's rate .*; give --rate"):
        plan(TunedPath("receiver", None, 0.3), machine, add=["receive-buffer"])


def test_a_control_that_the_kernel_has_not_cannot_be_added(machine: Machine) -> None:
    (machine.proc / "net/ipv4/tcp_available_congestion_control").write_text("reno cubic\n")
    with pytest.raises(TuneError, match="--with bbr: bbr is neither loaded"):
        plan(TunedPath("both", 20e6, 0.3), machine, add=["bbr"])


def test_a_change_that_is_set_already_may_be_asked_for(machine: Machine) -> None:
    (machine.proc / "net/ipv4/tcp_slow_start_after_idle").write_text("0\n")
    found = plan(TunedPath("both", 20e6, 0.3), machine, add=["idle"], leave=["fq"])
    assert "net.ipv4.tcp_slow_start_after_idle 0" in found.enough
    assert found.needless == ["--with idle changes nothing: net.ipv4.tcp_slow_start_after_idle 0 already."]
    assert found.needless[0] in plan_lines(found, 200)
    assert not plan(TunedPath("both", 20e6, 0.3), machine, add=["lowat"]).needless


def test_a_change_is_not_both_asked_for_and_left_out(machine: Machine) -> None:
    with pytest.raises(TuneError, match="found --with bbr and --without bbr"):
        plan(TunedPath("both", 20e6, 0.3), machine, add=["bbr"], leave=["bbr"])


def test_a_destination_is_a_senders(machine: Machine) -> None:
    with pytest.raises(TuneError, match=r"^--destination: .* this host only receives"):
        plan(TunedPath("receiver", 20e6, 0.3), machine, address="192.0.2.1")


def test_a_path_that_holds_no_byte_needs_nothing(machine: Machine) -> None:
    assert not {"receive-buffer", "send-buffer"} & {
        each.key for each in plan(TunedPath("both", 1e3, 1e-6), machine).changes
    }


@pytest.mark.parametrize(("rtt_s", "rate"), [(float("nan"), 20.0), (-1.0, 20.0), (0.4, float("inf"))])
def test_a_report_with_an_impossible_path_is_no_report(tmp_path: Path, rtt_s: float, rate: float) -> None:
    told = report()
    told["path"] |= {"rtt_s": rtt_s, "rate_mbit_s": rate}
    with pytest.raises(TuneError, match="not a report"):
        by_report(tmp_path, told)


def test_reports_of_several_runs_are_refused(tmp_path: Path) -> None:
    (tmp_path / "runs.json").write_text(f"{json.dumps(report())}\n" * 3)
    with pytest.raises(TuneError, match="found reports of 3 runs; expected one"):
        from_report(tmp_path / "runs.json", None, None)


def test_of_many_transfers_the_nearest_name_and_the_first_few_are_listed(tmp_path: Path) -> None:
    told = report()
    told["transfers"] = [{**told["transfers"][0], "name": f"download-{number}"} for number in range(40)]
    with pytest.raises(TuneError, match='did you mean "download-7"') as raised:
        by_report(tmp_path, told, transfer="downlod-7")
    assert str(raised.value).endswith("download-7 and 32 more")


def test_a_route_keeps_its_other_words_and_never_loses_segments() -> None:
    line = "default via 10.0.0.1 dev eth0 proto static metric 100 initcwnd 60 mtu 1400"
    assert route_name("-4", line) == "-4 default dev eth0 metric 100"
    assert with_first_windows(line, 40) == (
        "default via 10.0.0.1 dev eth0 proto static metric 100 mtu 1400 initcwnd 60 initrwnd 40"
    )
    assert Route("-4 default").same("a  b", "a b")


def test_a_sysctl_is_read_and_written_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "net").mkdir()
    (tmp_path / "net/a").write_text("1\t2\n")
    one = Sysctl("net.a", tmp_path)
    assert one.read() == "1\t2"
    assert one.same("1\t2", "1 2")
    assert Sysctl("net.b", tmp_path).read() is None


def test_a_limit_says_which_buffer_it_allows_where_that_is_large_enough(
    machine: Machine, tmp_path: Path
) -> None:
    (tmp_path / "proc/net/ipv4/tcp_rmem").write_text("4096\t131072\t100000000\n")
    found = plan(TunedPath("both", 150e6, 0.3), machine)
    reasons_of = {each.key: reasons.plain(each.why) for each in found.changes}
    assert "receive-buffer" not in reasons_of
    assert "5.62 MB allow a buffer of 11.2 MB, as this path needs" in reasons_of["receive-limit"]
    assert "9 MB allow a buffer of 18 MB, as this path needs" in reasons_of["send-limit"]


def test_a_path_that_holds_less_than_a_first_window_gains_nothing_by_more(machine: Machine) -> None:
    tiny = TunedPath("both", 1e6, 0.001)
    assert list(plan(tiny, machine).elsewhere) == []
    assert "It saves no time here: a BDP, 125 B, is no more than 14.5 kB." in reasons.plain(
        reasons.first_window(tiny, 40)
    )
    assert any("at least 50 kB here" in reasons.plain(each) for each in reasons.elsewhere(longer(4e6)))


def longer(rate_bit_s: float | None) -> TunedPath:
    return TunedPath("both", rate_bit_s, 0.1)


@pytest.mark.parametrize(
    ("rate_bit_s", "saved"),
    [
        (None, "up to 2 round trips, 200 ms, less"),
        (10e9, "up to 2 round trips, 200 ms, less"),
        # A BDP of 20 segments: the first round trip carries 10 of them instead of all.
        (20 * 1448 * 8 / 0.1, "up to 0.5 round trips, 50 ms, less"),
        # Of 40: 10, then 20.
        (40 * 1448 * 8 / 0.1, "up to 1.2 round trips, 125 ms, less"),
    ],
)
def test_a_larger_first_window_saves_what_slow_start_leaves_unused(
    rate_bit_s: float | None, saved: str
) -> None:
    assert saved in reasons.plain(reasons.first_window(longer(rate_bit_s), 40))
