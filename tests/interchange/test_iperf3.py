"""What becomes of iperf3's JSON. The samples are iperf 3.12's own, of tests over loopback."""

import json
from pathlib import Path

import pytest
from taking import SAMPLES, sample, taken, written

from bentpipe.interchange.foreign import ForeignFileError
from bentpipe.interchange.reading import read


def test_a_download_is_the_receivers_own_count(tmp_path: Path) -> None:
    results = taken(tmp_path / "out", "down.json")
    (record,) = results.records
    entry, end = record["workloads"]["download"], sample("down")["end"]
    assert (entry["kind"], entry["direction"], entry["streams"]) == ("bulk", "down", 1)
    assert entry["bytes"] == end["sum_received"]["bytes"]
    assert entry["goodput_mbit_s"] == pytest.approx(end["sum_received"]["bits_per_second"] / 1e6)
    assert entry["retransmits"] == end["sum_sent"]["retransmits"]
    assert entry["per_second_mbit_s"] == pytest.approx(
        [each["sum"]["bits_per_second"] / 1e6 for each in sample("down")["intervals"]], rel=1e-6
    )
    assert record["started"] == "2026-11-21T20:03:05+00:00"
    assert (record["versions"]["iperf3"], record["machine"]["kernel"]) == ("3.12", "6.18.44")
    assert json.loads(results.tools["output"][0]) == sample("down")


def test_a_sender_s_windows_are_samples_and_a_receiver_s_are_not_known(tmp_path: Path) -> None:
    sent = taken(tmp_path / "up", "up.json").sockets
    of_file = [each["streams"][0] for each in sample("up")["intervals"]]
    assert sent["host"].to_list() == ["client", "client"]
    assert sent["srtt_s"].to_list() == [each["rtt"] / 1e6 for each in of_file]
    windows = (sent["cwnd_segments"] * sent["mss_bytes"]).to_list()
    assert windows == [each["snd_cwnd"] for each in of_file]
    assert sent["bytes_sent"].null_count() == sent["in_flight_bytes"].null_count() == 2
    assert taken(tmp_path / "down", "down.json").sockets.is_empty()


def test_a_window_that_no_segment_divides_is_not_known_in_segments(tmp_path: Path) -> None:
    document = sample("up")
    document["intervals"][0]["streams"][0]["snd_cwnd"] += 1
    file = written(tmp_path / "odd.json", document)
    assert taken(tmp_path / "out", file).sockets["cwnd_segments"].to_list() == [None, 12]


def test_both_ways_at_once_are_two_transfers(tmp_path: Path) -> None:
    results = taken(tmp_path / "out", "both_ways.json")
    assert list(results.records[0]["workloads"]) == ["upload", "download"]
    ports = {each["local_port"] for each in sample("both_ways")["start"]["connected"]}
    assert set(results.flows["local_port"]) == ports
    assert results.flows["direction"].to_list() == ["up", "down"]
    assert results.sockets["host"].unique().to_list() == ["client"]


def test_parallel_streams_are_flows_of_one_transfer(tmp_path: Path) -> None:
    results = taken(tmp_path / "out", "two_streams.json")
    entry = results.records[0]["workloads"]["upload"]
    assert entry["streams"] == 2
    assert results.flows["bytes"].sum() == entry["bytes"]
    assert results.records[0]["variant"] == "two streams"  # the title that it was given by -T
    assert results.sockets.group_by("local_port").len()["len"].to_list() == [2, 2]


def test_a_server_s_file_says_the_same_from_the_other_end(tmp_path: Path) -> None:
    client = taken(tmp_path / "client", "up_by_client.json")
    server = taken(tmp_path / "server", "up_by_server.json")
    ours, theirs = (each.records[0]["workloads"]["upload"] for each in (client, server))
    assert ours["bytes"] == theirs["bytes"]
    ends = ["workload", "client", "server", "direction", "local_port", "remote_port"]
    assert client.flows.select(ends).equals(server.flows.select(ends))
    assert (ours["retransmits"], theirs["retransmits"]) == (1, None)


def test_what_a_server_sent_without_learning_what_came_is_said_to_be_the_senders(tmp_path: Path) -> None:
    entry = taken(tmp_path / "out", "down_by_server.json").records[0]["workloads"]["download"]
    assert entry["bytes"] == sample("down_by_server")["end"]["sum_sent"]["bytes"]
    assert entry["by"] == "sender"
    both = taken(tmp_path / "both", "both_ways_by_server.json").records[0]["workloads"]
    assert (both["upload"]["by"], both["download"]["by"]) == ("receiver", "sender")


def test_an_omitted_beginning_counts_in_no_figure(tmp_path: Path) -> None:
    results = taken(tmp_path / "out", "omitted_second.json")
    entry = results.records[0]["workloads"]["download"]
    assert len(entry["per_second_mbit_s"]) == 3
    assert entry["bytes"] == sample("omitted_second")["end"]["sum_received"]["bytes"]
    assert results.flows["end_s"][0] == pytest.approx(4.0, abs=0.01)


def test_a_transfer_by_size_is_complete_when_its_receiver_has_all(tmp_path: Path) -> None:
    results = taken(tmp_path / "out", "by_size.json")
    entry = results.records[0]["workloads"]["upload"]
    assert entry["completion_s"] == sample("by_size")["end"]["sum_received"]["seconds"]
    assert results.flows["size_bytes"].to_list() == [1_000_000]


def test_udp_has_goodput_and_losses_and_no_connections(tmp_path: Path) -> None:
    results = taken(tmp_path / "out", "udp_down.json")
    entry = results.records[0]["workloads"]["download"]
    assert (entry["protocol"], entry["packets"], entry["lost_packets"]) == ("udp", 77, 0)
    assert entry["goodput_mbit_s"] == pytest.approx(10.09, abs=0.01)
    assert entry["retransmits"] is None
    assert results.flows.is_empty()
    # What an end sent by UDP is not what arrived.
    assert taken(tmp_path / "up", "udp_up.json").records[0]["workloads"]["upload"]["per_second_mbit_s"] == []


def test_a_test_that_broke_off_is_a_failed_run_with_what_it_measured(tmp_path: Path) -> None:
    document = sample("down") | {"error": "the server has terminated", "end": {}}
    (record,) = taken(tmp_path / "out", written(tmp_path / "cut.json", document)).records
    assert (record["status"], record["reliable"]) == ("failed", False)
    assert record["why"] == ["iperf3: the server has terminated"]
    entry = record["workloads"]["download"]
    assert entry["bytes"] == sum(each["sum"]["bytes"] for each in document["intervals"])
    assert entry["completion_s"] is None


def test_an_interval_that_an_interrupted_end_wrote_twice_counts_once(tmp_path: Path) -> None:
    document = sample("down") | {"error": "interrupted", "end": {}}
    document["intervals"].append(document["intervals"][-1])
    entry = taken(tmp_path / "out", written(tmp_path / "cut.json", document)).records[0]["workloads"][
        "download"
    ]
    assert len(entry["per_second_mbit_s"]) == 2


def test_a_log_of_several_tests_is_as_many_runs(tmp_path: Path) -> None:
    log = written(tmp_path / "log.json", sample("up_by_server"), sample("down_by_server"))
    assert [list(record["workloads"]) for record in taken(tmp_path / "out", log).records] == [
        ["upload"],
        ["download"],
    ]


def test_a_stream_of_events_is_the_same_test(tmp_path: Path) -> None:
    document = sample("down")
    events = [{"event": "start", "data": document["start"]}]
    events += [{"event": "interval", "data": each} for each in document["intervals"]]
    events += [{"event": "end", "data": document["end"]}]
    streamed = taken(tmp_path / "streamed", written(tmp_path / "stream.json", *events))
    whole = taken(tmp_path / "whole", "down.json")
    assert streamed.records[0]["workloads"] == whole.records[0]["workloads"]
    assert streamed.flows.drop("run").equals(whole.flows.drop("run"))


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ({"start": None}, "start.test_start: found a test that did not begin"),
        ({"intervals": {}}, "intervals: found an empty table; expected an array"),
        ({"intervals": [{"sum": {"bytes": -5, "seconds": 1, "start": 0}}]}, "intervals[0].sum.bytes"),
        ({"intervals": [{"sum": {"bytes": "many", "seconds": 1}}]}, 'found "many"; expected a number'),
    ],
)
def test_what_is_wrong_is_named_by_its_place(tmp_path: Path, damage: dict[str, object], said: str) -> None:
    file = written(tmp_path / "wrong.json", sample("down") | {"end": {}} | damage)
    with pytest.raises(ForeignFileError) as raised:
        read(file)
    assert str(raised.value).startswith(f"{file}: ")
    assert said in str(raised.value)


def test_a_test_that_never_connected_is_refused_with_its_reason() -> None:
    with pytest.raises(
        ForeignFileError, match=r"Connection refused\); expected a test that carried something"
    ):
        read(SAMPLES / "refused.json")


def test_sctp_is_refused(tmp_path: Path) -> None:
    document = sample("down")
    document["start"]["test_start"]["protocol"] = "SCTP"
    with pytest.raises(ForeignFileError, match=r'test_start\.protocol: found "SCTP"; expected TCP or UDP'):
        read(written(tmp_path / "sctp.json", document))


def test_nothing_received_is_nothing_however_much_was_sent(tmp_path: Path) -> None:
    for direction in ("down", "up_by_client"):
        document = sample(direction)
        of_stream = document["end"]["streams"][0]["receiver"]
        for counted in (document["end"]["sum_received"], of_stream):
            counted["bytes"] = counted["bits_per_second"] = 0
        results = taken(tmp_path / direction, written(tmp_path / f"{direction}.json", document))
        (entry,) = results.records[0]["workloads"].values()
        assert (entry["goodput_mbit_s"], entry["bytes"], entry["by"]) == (0, 0, "receiver")
        assert results.flows["bytes"].to_list() == [0]
