"""Presets, defaults and files become the plain numbers that an engine is given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bentpipe.lab.load import Lab
from bentpipe.lab.presets import PRESETS
from bentpipe.lab.spec import BulkSpec, ChannelsSpec, ExecSpec, HttpSpec, RunSpec

from .conftest import WORK

SpecOf = Callable[..., RunSpec]


def queue_of(spec: RunSpec) -> dict[str, Any]:
    limit: dict[str, Any] = spec.path.down["queue"]["limit"]
    return limit


def test_a_plain_lab_is_an_unshaped_wire(spec_of: SpecOf) -> None:
    path = spec_of("").path
    assert path.down == {
        "ingress": {"policer": None, "loss": {"model": "none"}},
        "queue": {"limit": {"unit": "unlimited"}, "discipline": {"name": "fifo"}, "ecn": False},
        "shaper": {"kind": "unlimited"},
        "propagation": {
            "delay_ns": 0,
            "jitter": None,
            "limit": {"unit": "unlimited"},
            "handover": None,
        },
        "channel": {"loss": {"model": "none"}, "duplicate": 0.0, "corrupt": 0.0, "outages": []},
    }
    assert path.up == path.down
    assert (path.mtu, path.base_rtt_ns, path.rate_down_bit_s) == (1500, 0, None)


def test_the_round_trip_is_halved_and_no_nanosecond_is_lost(spec_of: SpecOf) -> None:
    path = spec_of('[path]\nrtt = "7 ns"\n').path
    assert (path.down["propagation"]["delay_ns"], path.up["propagation"]["delay_ns"]) == (4, 3)
    assert path.base_rtt_ns == 7


def test_one_pipes_delay_leaves_the_other_half_of_the_round_trip(spec_of: SpecOf) -> None:
    path = spec_of('[path]\nrtt = "100 ms"\n[path.down]\ndelay = "270 ms"\n').path
    assert path.base_rtt_ns == 320_000_000


def test_a_pipes_own_key_goes_before_the_paths(spec_of: SpecOf) -> None:
    path = spec_of("[path]\nloss = 0.001\nduplicate = 0.1\n[path.down]\nloss = 0.01\n").path
    assert path.down["channel"]["loss"]["p"] == 0.01
    assert path.up["channel"]["loss"]["p"] == 0.001
    assert path.down["channel"]["duplicate"] == path.up["channel"]["duplicate"] == 0.1


def test_the_default_queue_is_one_bdp(spec_of: SpecOf) -> None:
    spec = spec_of('[path]\nrtt = "100 ms"\nrate = "16 Mbit/s"\n')
    assert queue_of(spec) == {"unit": "bdp", "multiple": 1.0, "base_rtt_ns": 100_000_000}


def test_the_default_queue_of_a_short_path_still_takes_an_initial_window(spec_of: SpecOf) -> None:
    assert queue_of(spec_of('[path]\nrate = "16 Mbit/s"\n')) == {"unit": "bytes", "bytes": 15_000}


def test_a_queue_that_is_asked_for_is_taken_at_its_word(spec_of: SpecOf) -> None:
    short = '[path]\nrtt = "1 ms"\nrate = "1 Mbit/s"\n'
    assert queue_of(spec_of(short + 'queue = "1 bdp"\n'))["unit"] == "bdp"
    assert queue_of(spec_of(short + 'queue = "60 ms"\n')) == {"unit": "delay", "delay_ns": 60_000_000}
    assert queue_of(spec_of(short + 'queue = "250 packets"\n')) == {"unit": "packets", "packets": 250}
    assert queue_of(spec_of(short + 'queue = "unlimited"\n')) == {"unit": "unlimited"}


def test_a_discipline_passes_only_what_was_said_of_it(spec_of: SpecOf) -> None:
    table = '{ limit = "1 MB", discipline = "fq_codel", target = "5 ms", quantum = "1514 B", ecn = true }'
    queue = spec_of(f'[path]\nrate = "1 Mbit/s"\nqueue = {table}\n').path.up["queue"]
    assert queue == {
        "limit": {"unit": "bytes", "bytes": 1_000_000},
        "discipline": {
            "name": "fq_codel",
            "target_ns": 5_000_000,
            "interval_ns": None,
            "flows": None,
            "quantum_bytes": 1514,
        },
        "ecn": True,
    }


def test_head_drop_is_called_as_the_path_crate_calls_it(spec_of: SpecOf) -> None:
    spec = spec_of('[path]\nrate = "1 Mbit/s"\nqueue = { discipline = "head-drop" }\n')
    assert spec.path.down["queue"]["discipline"] == {"name": "head_drop"}


def test_steps_may_lift_the_limit(spec_of: SpecOf) -> None:
    spec = spec_of('[path]\nrate = { steps = [["0 s", "16 Mbit/s"], ["30 s", "unlimited"]] }\n')
    assert spec.path.down["shaper"]["steps"] == [
        {"at_ns": 0, "rate_bit_s": 16_000_000},
        {"at_ns": 30_000_000_000, "rate_bit_s": None},
    ]
    assert spec.path.rate_down_bit_s == 16_000_000


def test_the_rest_of_a_pipe_arrives_in_plain_numbers(spec_of: SpecOf) -> None:
    path = spec_of(
        '[path]\njitter = { spread = "5 ms", distribution = "pareto", correlation = 0.25, reorder = true }\n'
        'delay_limit = "1000 packets"\ncorrupt = 0.5\noutages = [["30 s", "2 s"], ["40 s", "1 s"]]\n'
        'policer = { rate = "1 Mbit/s", burst = "10 kB" }\ningress_loss = 0.25\n'
        'loss = { model = "gilbert-elliott", p = 0.01, r = 0.5 }\n'
    ).path.down
    assert path["propagation"]["jitter"] == {
        "spread_ns": 5_000_000,
        "distribution": "pareto",
        "correlation": 0.25,
        "reorder": True,
    }
    assert path["propagation"]["limit"] == {"unit": "packets", "packets": 1000}
    assert path["ingress"] == {
        "policer": {"rate_bit_s": 1_000_000, "burst_bytes": 10_000},
        "loss": {"model": "bernoulli", "p": 0.25},
    }
    assert path["channel"]["loss"] == {
        "model": "gilbert-elliott",
        "p": 0.01,
        "r": 0.5,
        "good": 0.0,
        "bad": 1.0,
    }
    assert path["channel"]["corrupt"] == 0.5
    assert path["channel"]["outages"][1] == {"start_ns": 40_000_000_000, "length_ns": 1_000_000_000}


def test_a_jitter_written_short_keeps_order(spec_of: SpecOf) -> None:
    jitter = spec_of('[path]\njitter = "5 ms"\n').path.down["propagation"]["jitter"]
    assert (jitter["spread_ns"], jitter["reorder"]) == (5_000_000, False)


def test_traces_are_read_beside_the_lab(spec_of: SpecOf, tmp_path: Path) -> None:
    (tmp_path / "link.trace").write_text("0\n5\n5\n12\n")
    (tmp_path / "loss.trace").write_text("0010 # one in four\n")
    text = '[path.down]\nrate = { trace = "link.trace" }\nloss = { model = "trace", file = "loss.trace" }\n'
    path = spec_of(text).path
    assert path.down["shaper"]["opportunities_ns"] == [0, 5_000_000, 5_000_000, 12_000_000]
    assert path.down["channel"]["loss"]["lost"] == [False, False, True, False]
    assert path.rate_down_bit_s == 4 * 1500 * 8 * 1000 // 12
    assert path.rate_up_bit_s is None


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_a_start_with_a_source(name: str, spec_of: SpecOf) -> None:
    path = spec_of(f'[path]\npreset = "{name}"\n').path
    assert path.base_rtt_ns > 0
    assert path.rate_down_bit_s is not None
    assert "RTT" in PRESETS[name].source


def test_a_labs_own_keys_go_before_the_presets(spec_of: SpecOf) -> None:
    path = spec_of('[path]\npreset = "leo"\nrate = "50 Mbit/s"\nrtt = "30 ms"\n').path
    assert (path.rate_down_bit_s, path.rate_up_bit_s, path.base_rtt_ns) == (
        50_000_000,
        50_000_000,
        30_000_000,
    )
    preset = spec_of('[path]\npreset = "leo"\n').path
    assert (preset.rate_down_bit_s, preset.rate_up_bit_s) == (100_000_000, 10_000_000)


def test_a_host_is_left_as_it_is_but_for_congestion_control_and_metrics(spec_of: SpecOf) -> None:
    client = spec_of("").client
    assert client.sysctl == {"net.ipv4.tcp_no_metrics_save": "1"}
    assert (client.congestion_control, client.ip, client.sack, client.tcp_rmem) == ("cubic", 4, None, None)


def test_a_hosts_fields_become_sysctls_and_its_own_go_before_both_ends(spec_of: SpecOf) -> None:
    spec = spec_of(
        "[host]\nsack = false\ntcp_rmem = [1, 2, 3]\necn = true\nslow_start_after_idle = false\n"
        'congestion_control = "reno"\nsysctl = { "net.ipv4.tcp_mtu_probing" = 1 }\n'
        '[server]\nsack = true\ncongestion_control = "bbr"\n'
        'sysctl = { "net.ipv4.tcp_no_metrics_save" = "0" }\n'
    )
    assert spec.client.sysctl == {
        "net.ipv4.tcp_no_metrics_save": "1",
        "net.ipv4.tcp_sack": "0",
        "net.ipv4.tcp_ecn": "1",
        "net.ipv4.tcp_rmem": "1 2 3",
        "net.ipv4.tcp_slow_start_after_idle": "0",
        "net.ipv4.tcp_mtu_probing": "1",
    }
    assert (spec.client.congestion_control, spec.server.congestion_control) == ("reno", "bbr")
    assert (spec.server.sysctl["net.ipv4.tcp_sack"], spec.server.sysctl["net.ipv4.tcp_no_metrics_save"]) == (
        "1",
        "0",
    )


def test_a_transfer_without_an_end_lasts_until_the_runs(spec_of: SpecOf) -> None:
    work = '[[workload]]\nkind = "bulk"\nstart = "12 s"\nomit = "1 s"\n'
    spec = spec_of('duration = "60 s"\n', work=work)
    (bulk,) = spec.workloads
    assert isinstance(bulk, BulkSpec)
    assert (bulk.name, bulk.time_ns, bulk.size_bytes) == ("bulk", 47_000_000_000, None)
    assert (spec.until, spec.duration_s, spec.earliest_start_ns) == ("duration", 60.0, 0)


def test_without_a_duration_a_run_ends_when_all_is_done(spec_of: SpecOf) -> None:
    spec = spec_of("")
    assert (spec.until, spec.duration_ns) == ("done", None)


def test_both_directions_are_two_workloads(spec_of: SpecOf) -> None:
    spec = spec_of("", work=WORK + 'direction = "both"\n')
    assert [(each.name, each.direction) for each in spec.workloads if isinstance(each, BulkSpec)] == [
        ("download-down", "down"),
        ("download-up", "up"),
    ]


def test_pings_on_the_idle_path_come_before_time_zero(spec_of: SpecOf) -> None:
    spec = spec_of("", work=WORK + '[[workload]]\nkind = "ping"\nstart = "-3 s"\n')
    assert spec.earliest_start_ns == -3_000_000_000


def test_the_other_kinds_arrive_in_plain_numbers(spec_of: SpecOf) -> None:
    work = """
[[workload]]
kind = "channels"
channels = 20
terrestrial = { delay = { distribution = "lognormal", median = "60 ms", sigma = 0.8 }, jitter = "5 ms" }
size = { distribution = "bounded-pareto", shape = 1.2, min = "1.5 kB", max = "50 MB" }
[[workload]]
kind = "http"
objects = ["10 kB", "1 MB"]
connections = 4
[[workload]]
kind = "exec"
command = ["curl", "http://server/"]
"""
    channels, http, command = spec_of('duration = "9 s"\n', work=work).workloads
    assert isinstance(channels, ChannelsSpec)
    assert isinstance(http, HttpSpec)
    assert isinstance(command, ExecSpec)
    assert (channels.servers, channels.terrestrial_jitter_ns) == (23, 5_000_000)
    assert channels.size.model_dump() == {
        "distribution": "bounded-pareto",
        "shape": 1.2,
        "min": 1500,
        "max": 50_000_000,
    }
    assert channels.terrestrial_delay.model_dump() == {
        "distribution": "lognormal",
        "median": 60_000_000,
        "sigma": 0.8,
    }
    assert (http.objects_bytes, http.connections) == ((10_000, 1_000_000), 4)
    assert (http.keep_alive, http.think_ns, channels.think_ns) == (True, 0, 0)
    assert (command.command, command.host) == (("curl", "http://server/"), "client")


def test_a_file_is_fetched_over_new_connections_and_a_page_as_browsers_do(spec_of: SpecOf) -> None:
    def http(keys: str) -> tuple[int, bool, int]:
        (work,) = spec_of("", work=f'[[workload]]\nkind = "http"\n{keys}\n').workloads
        assert isinstance(work, HttpSpec)
        return work.connections, work.keep_alive, work.think_ns

    assert http('size = "1 MB"') == (1, False, 0)
    assert http('objects = ["1 MB", "2 kB"]') == (6, True, 0)
    assert http('size = "1 MB"\nconnections = 4\nkeep_alive = true\nthink = "20 ms"') == (
        4,
        True,
        20_000_000,
    )


def test_sizes_may_be_of_a_body_and_a_tail_or_of_a_file(spec_of: SpecOf, tmp_path: Path) -> None:
    (tmp_path / "sizes").write_text("1500\n\n# a large one\n2000000 # bytes\n1500\n")
    work = """
[[workload]]
name = "mixed"
kind = "channels"
channels = 1
think = "1 s"
[workload.size]
distribution = "lognormal+pareto"
median = "2 kB"
sigma = 1
tail = 0.01
shape = 1.1
min = "1 MB"
max = "9 MB"
[[workload]]
name = "recorded"
kind = "channels"
channels = 1
size = { distribution = "file", file = "sizes" }
"""
    mixed, recorded = spec_of('duration = "9 s"\n', work=work).workloads
    assert isinstance(mixed, ChannelsSpec)
    assert isinstance(recorded, ChannelsSpec)
    assert mixed.think_ns == 1_000_000_000
    assert mixed.size.model_dump() == {
        "distribution": "lognormal+pareto",
        "median": 2000,
        "sigma": 1.0,
        "tail": 0.01,
        "shape": 1.1,
        "min": 1_000_000,
        "max": 9_000_000,
    }
    assert recorded.size.model_dump()["values"] == (1500, 2_000_000, 1500)


def test_limits_have_defaults_and_can_be_set(spec_of: SpecOf) -> None:
    limits = spec_of('[limits]\nlateness_p99 = "2 ms"\n').limits
    assert (limits.lateness_p99_s, limits.unintended_loss, limits.rate_error) == (0.002, 0, 0.01)
    assert (limits.host_stopped_s, limits.sampler_late_s) == (0, 1)
    of_hosts = spec_of(
        '[limits]\nhost_wait_share = 0.3\nbulk_wait_share = 0.6\nhost_wait_max = "1 s"\n'
    ).limits
    assert (of_hosts.host_wait_share, of_hosts.bulk_wait_share, of_hosts.host_wait_max_s) == (0.3, 0.6, 1)


def test_a_spec_survives_its_json(spec_of: SpecOf) -> None:
    spec = spec_of('[path]\npreset = "geo"\nloss = 0.001\n[host]\ntcp_rmem = [1, 2, 3]\n')
    assert RunSpec.model_validate_json(spec.model_dump_json()) == spec


def test_the_contracts_own_example_loads() -> None:
    lab = Lab.load(Path(__file__).with_name("contract.toml"))
    # "as is" at both orbits, "tuned" at one.
    assert len(lab.points()) == 5 * 2 * (2 + 1) * 3
    assert lab.title == "GEO satellite, one download"


def test_a_handover_is_the_same_in_both_pipes(spec_of: SpecOf) -> None:
    path = spec_of('[path]\nhandover = { every = "15 s", step = "10 ms", outage = "50 ms" }\n').path
    expected = {"every_ns": 15_000_000_000, "step_ns": 10_000_000, "outage_ns": 50_000_000}
    assert path.down["propagation"]["handover"] == expected
    assert path.up["propagation"]["handover"] == expected


def test_a_congestion_control_is_a_name_or_a_table_with_its_parameters(spec_of: SpecOf) -> None:
    plain = spec_of('[host]\ncongestion_control = "cubic"\n').client
    assert (plain.congestion_control, plain.congestion_control_parameters) == ("cubic", {})
    control = '{ name = "cubic", slow_start = "search", beta = 0.5 }'
    tuned = spec_of(f"[host]\ncongestion_control = {control}\n").client
    assert tuned.congestion_control == "cubic"
    assert tuned.congestion_control_parameters == {"slow_start": "search", "beta": 0.5}


def test_careful_resume_knows_the_paths_bdp_and_rtt_unless_the_lab_says_what_was_saved(
    spec_of: SpecOf,
) -> None:
    path = '[path]\nrtt = "500 ms"\nrate = "16 Mbit/s"\n[path.up]\nrate = "2 Mbit/s"\n'
    resume = '{ name = "cubic", slow_start = "careful-resume" }'
    spec = spec_of(f"{path}[host]\ncongestion_control = {resume}\n")
    sent = [host.congestion_control_parameters["saved_cwnd"] for host in (spec.server, spec.client)]
    assert sent == [1_000_000, 125_000]
    assert spec.server.congestion_control_parameters["saved_rtt"] == 500_000_000
    said = '{ name = "cubic", slow_start = "careful-resume", saved_cwnd = "2 MB", saved_rtt = "600 ms" }'
    known = spec_of(f"{path}[host]\ncongestion_control = {said}\n").server.congestion_control_parameters
    assert (known["saved_cwnd"], known["saved_rtt"]) == (2_000_000, 600_000_000)


def test_parameters_that_are_linuxs_are_none(spec_of: SpecOf) -> None:
    control = '{ name = "cubic", slow_start = "hystart", beta = 0.7 }'
    assert spec_of(f"[host]\ncongestion_control = {control}\n").server.congestion_control_parameters == {}


def test_a_parameter_is_set_by_a_key_below_the_name(spec_of: SpecOf) -> None:
    text = '[host]\ncongestion_control = "reno"\n'
    spec = spec_of(text, 'host.congestion_control.slow_start="search"')
    assert spec.client.congestion_control == "reno"
    assert spec.client.congestion_control_parameters == {"slow_start": "search"}


def test_a_congestion_control_without_a_model_here_gets_the_parameters_that_it_accepts(
    spec_of: SpecOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bentpipe.lab.models.host.wrong_parameter", lambda _choice: None)
    text = '[host]\ncongestion_control = { name = "hybla", gain = 2, mode = "slow" }\n'
    assert spec_of(text).server.congestion_control_parameters == {"gain": 2, "mode": "slow"}
    swept = spec_of(text, "host.congestion_control.gain=3").server.congestion_control_parameters
    assert swept == {"gain": 3, "mode": "slow"}
