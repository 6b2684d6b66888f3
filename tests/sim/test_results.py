"""What a simulated run leaves: the tables of every engine, and figures that a reckoning by hand gives."""

from statistics import median

import polars as pl
import pytest
from simulating import Simulate

from bentpipe.runs.summary import summary

PACKET_BYTES = 1500
PAYLOAD_BYTES = 1448
BLOCK_BYTES = 131072
"""What iperf3 reads at once."""
UPLOAD = "workload.download.direction=up"


def test_a_ping_on_the_idle_path_takes_its_round_trip_and_its_serialisation(simulate: Simulate) -> None:
    found = simulate()
    pings = found.pings
    serialisation_s = 2 * (20 + 8 + 56) * 8 / 10e6
    # And both hosts' wake-ups, each with a median of 20 us; 160 us or more has one in 256.
    least_s, most_s = 0.1 + serialisation_s, 0.1 + serialisation_s + 2 * 160e-6
    assert all(least_s < rtt_s < most_s for rtt_s in pings["rtt_s"])
    assert pings["rtt_s"].n_unique() == 3
    assert pings["time_s"].to_list() == pytest.approx([-1.0, -0.9, -0.8], abs=1e-9)
    entry = found.records[0]["workloads"]["rtt"]
    assert (entry["sent"], entry["lost"]) == (3, 0)
    assert least_s * 1e3 < entry["min_ms"] < entry["max_ms"] < most_s * 1e3


def test_a_download_that_fills_the_path_gets_its_share_that_is_payload(simulate: Simulate) -> None:
    found = simulate("workload.download.size=20 MB")
    by_second = found.records[0]["workloads"]["download"]["per_second_mbit_s"]
    assert median(by_second) == pytest.approx(10 * PAYLOAD_BYTES / PACKET_BYTES, rel=0.01)


def test_the_flow_and_the_workload_and_the_link_count_the_same_bytes(simulate: Simulate) -> None:
    found = simulate()
    entry = found.records[0]["workloads"]["download"]
    (flow,) = found.flows.to_dicts()
    assert 2_000_000 <= entry["bytes"] == flow["bytes"] < 2_000_000 + BLOCK_BYTES
    assert (flow["workload"], flow["direction"], flow["outcome"]) == ("download", "down", "finished")
    assert flow["goodput_bit_s"] == pytest.approx(entry["goodput_mbit_s"] * 1e6)
    assert entry["completion_s"] == pytest.approx(flow["end_s"])
    crossed = found.link.filter(pl.col("pipe") == "down")["goodput_bytes"].sum()
    assert entry["bytes"] <= crossed <= entry["bytes"] + 250 * PAYLOAD_BYTES
    drops = found.link.filter(pl.col("pipe") == "down")["drops_tail"].sum()
    assert drops == found.records[0]["pipes"]["down"]["drops"]["tail"]


def test_iperf3s_own_round_trips_come_before_the_first_byte(simulate: Simulate) -> None:
    (flow,) = simulate().flows.to_dicts()
    # Control connection 1, cookie and state 1, parameters and state 1, stream 1; then half for the stream's
    # cookie and half for the data.
    assert flow["first_byte_s"] == pytest.approx(0.5, abs=0.01)
    assert flow["start_s"] == pytest.approx(0.3, abs=0.01)


def test_more_streams_share_the_size_and_are_opened_one_after_another(simulate: Simulate) -> None:
    flows = simulate("workload.download.streams=4").flows
    assert flows["start_s"].diff().drop_nulls().to_list() == pytest.approx([0.1] * 3, abs=0.01)
    assert 2_000_000 <= flows["bytes"].sum() < 2_000_000 + BLOCK_BYTES
    assert flows["local_port"].n_unique() == 4


def test_an_upload_by_size_is_asked_for_by_its_receiver(simulate: Simulate) -> None:
    (flow,) = simulate(UPLOAD).flows.to_dicts()
    assert (flow["client"], flow["server"], flow["direction"]) == ("server", "client", "up")
    assert flow["remote_port"] == 5201


def test_samples_of_both_ends_stand_a_tenth_of_a_second_apart(simulate: Simulate) -> None:
    sockets = simulate().sockets
    sending = sockets.filter((pl.col("host") == "server") & (pl.col("bytes_sent") > 100_000))
    assert sending["time_s"].diff().drop_nulls().to_list() == pytest.approx([0.1] * (sending.height - 1))
    assert set(sending["congestion_control"]) == {"cubic"}
    assert sending["min_rtt_s"].min() >= 0.1
    assert sending["bytes_acked"].is_sorted()
    assert set(sockets["host"]) == {"client", "server"}


def test_a_transfers_samples_are_told_from_those_of_iperf3s_control_connection(simulate: Simulate) -> None:
    found = simulate("workload.download.streams=2")
    sockets = found.sockets
    assert set(sockets["workload"]) == {"download"}
    by_role = {role: rows for (role,), rows in sockets.group_by("role")}
    assert set(by_role) == {"data", "control"}
    assert by_role["control"]["flow"].unique().to_list() == [None]
    assert by_role["control"]["bytes_sent"].max() < 2000
    flows = found.flows.select("flow", server_port="remote_port", client_port="local_port")
    of_data = by_role["data"].filter(pl.col("host") == "server").join(flows, on="flow")
    assert set(of_data["flow"]) == {1, 2}
    assert (of_data["remote_port"] == of_data["client_port"]).all()


def test_what_the_engine_owes_of_its_own_error_is_nothing(simulate: Simulate) -> None:
    record = simulate().records[0]
    error = summary(record)["engine_error"]
    assert (record["reliable"], record["why"], record["status"]) == (True, [], "done")
    assert error["lateness_us_p99"] == error["unintended_loss"] == error["rate_error"] == 0


def test_what_could_not_finish_says_so(simulate: Simulate) -> None:
    (flow,) = simulate("duration=1 s").flows.to_dicts()
    assert (flow["outcome"], flow["end_s"], flow["why"]) == ("unfinished", None, "the run ended")
    found = simulate("duration=200 ms", out="short")
    assert found.records[0]["workloads"]["download"]["completion_s"] is None


def test_a_lost_answer_is_a_ping_without_a_time(simulate: Simulate) -> None:
    pings = simulate("path.up.loss=1.0", "duration=3 s").pings
    assert pings["rtt_s"].to_list() == [None] * 3


def test_pings_that_are_all_lost_end_and_are_counted_as_lost(simulate: Simulate) -> None:
    found = simulate("path.loss=1.0")  # no duration: the run ends since ping gives up, and the SYNs do
    entry = found.records[0]["workloads"]["rtt"]
    assert (entry["sent"], entry["lost"]) == (3, 3)


def test_a_transfer_uses_the_congestion_control_that_it_is_given(simulate: Simulate) -> None:
    sockets = simulate('workload.download.congestion_control="bbr"').sockets
    assert set(sockets["congestion_control"]) == {"bbr"}
