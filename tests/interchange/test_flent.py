"""What becomes of flent's data files."""

import bz2
import datetime
from pathlib import Path

import pytest
from taking import PINGS, ZERO_S, flent, packed, rates, taken, written

from bentpipe.interchange.foreign import ForeignFileError
from bentpipe.interchange.reading import read


def test_a_file_that_flent_wrote_has_its_pings(tmp_path: Path) -> None:
    results = taken(tmp_path / "out", "idle.flent.gz")
    (record,) = results.records
    entry = record["workloads"]["ping_ICMP"]
    assert (entry["kind"], entry["sent"], entry["lost"]) == ("ping", 10, 0)
    # What flent says of its own file: 0.017 and 0.083 ms in SERIES_META, a median of 0.04 ms in its summary.
    assert (entry["min_ms"], entry["max_ms"]) == pytest.approx((0.017, 0.083))
    assert round(entry["median_ms"], 2) == 0.04
    assert results.pings.height == 10
    assert (record["variant"], record["started"]) == ("idle loopback", "2026-11-21T20:24:02+00:00")


def test_goodput_is_the_tools_own_mean_and_rates_are_by_the_second(tmp_path: Path) -> None:
    meta = {"TCP download": {"MEAN_VALUE": 9.5, "UNITS": "Mbits/s"}}
    document = flent({"TCP download": rates([8, 9, 10, 11, 12, 6, 6, 6, 6, 6])}, SERIES_META=meta)
    results = taken(tmp_path / "out", packed(tmp_path / "a.flent.gz", document))
    entry = results.records[0]["workloads"]["download"]
    assert entry["goodput_mbit_s"] == 9.5
    assert entry["per_second_mbit_s"] == pytest.approx([10, 6])
    assert entry["duration_s"] == pytest.approx(2)
    assert (entry["bytes"], entry["retransmits"]) == (None, None)
    assert results.flows["start_s"][0] == pytest.approx(5)


def test_without_a_mean_goodput_is_that_of_the_values_by_their_time(tmp_path: Path) -> None:
    values = [
        {"t": ZERO_S + 1, "val": 10.0, "dur": 0.9},
        {"t": ZERO_S + 2, "val": 20.0, "dur": 0.1},
    ]
    document = flent({"TCP upload": values})
    entry = taken(tmp_path / "out", packed(tmp_path / "a.gz", document)).records[0]["workloads"]["upload"]
    assert entry["goodput_mbit_s"] == pytest.approx(11)


def test_streams_of_one_transfer_are_one_workload_and_others_their_own(tmp_path: Path) -> None:
    names = ("TCP download BE", "TCP download BE2", "TCP download EF", "TCP upload::1", "TCP upload::12")
    meta = {name: {"MEAN_VALUE": 2.0, "UNITS": "Mbits/s"} for name in names}
    computed = ("TCP download sum", "TCP download avg", "TCP totals", "TCP upload::1::tcp_cwnd")
    series = dict.fromkeys([*names, *computed], rates([2.0] * 5))
    results = taken(tmp_path / "out", packed(tmp_path / "a.gz", flent(series, SERIES_META=meta)))
    entries = results.records[0]["workloads"]
    assert {name: (each["streams"], each["goodput_mbit_s"]) for name, each in entries.items()} == {
        "download_BE": (2, 4.0),
        "download_EF": (1, 2.0),
        "upload": (2, 4.0),
    }
    assert results.flows.height == 5


def test_what_was_lost_is_what_is_missing_in_the_sequence(tmp_path: Path) -> None:
    results = taken(tmp_path / "out", packed(tmp_path / "a.gz", flent({"Ping (ms) ICMP": PINGS})))
    entry = results.records[0]["workloads"]["ping_ICMP"]
    assert (entry["sent"], entry["lost"], entry["median_ms"]) == (4, 1, 22.0)
    assert results.pings["sequence"].to_list() == [1, 2, 3, 4]
    assert results.pings["rtt_s"].to_list() == [pytest.approx(0.021), 0.022, None, 0.024]
    assert results.pings["time_s"].null_count() == 1  # nobody knows when the lost one was sent


@pytest.mark.parametrize(("version", "value"), [(3, 50.0), (4, 20.0)])
def test_means_of_udp_round_trips_were_transactions_a_second_once(
    tmp_path: Path, version: int, value: float
) -> None:
    series = {"Ping (ms) UDP BE": rates([value] * 3)}
    results = taken(tmp_path / "out", packed(tmp_path / "a.gz", flent(series, version=version)))
    entry = results.records[0]["workloads"]["ping_UDP_BE"]
    assert (entry["median_ms"], entry["sent"], entry["lost"]) == (20.0, None, None)
    assert results.pings.is_empty()


@pytest.mark.parametrize(("version", "value"), [(2, 0.5), (4, 500.0)])
def test_pages_are_fetches_and_their_times_were_seconds_once(
    tmp_path: Path, version: int, value: float
) -> None:
    series = {"HTTP latency": [{"t": ZERO_S + n, "val": value} for n in range(3)]}
    results = taken(tmp_path / "out", packed(tmp_path / "a.gz", flent(series, version=version)))
    entry = results.records[0]["workloads"]["page"]
    assert (entry["kind"], entry["fetches"], entry["median_fetch_s"]) == ("http", 3, 0.5)


def test_windows_of_the_senders_sockets_are_samples(tmp_path: Path) -> None:
    values = [*rates([1.0] * 5), {"t": ZERO_S + 5.5, "tcp_cwnd": 12, "tcp_rtt": 91.0, "tcp_rtt_var": 4.5}]
    results = taken(tmp_path / "out", packed(tmp_path / "a.gz", flent({"TCP upload": values})))
    row = results.sockets.row(0, named=True)
    assert (row["time_s"], row["host"], row["cwnd_segments"], row["srtt_s"]) == (5.5, "client", 12, 0.091)
    assert row["mss_bytes"] is None


def test_version_1_without_raw_values_is_taken_from_the_common_grid(tmp_path: Path) -> None:
    document = flent({"TCP download": rates([8.0] * 10)}, version=None)
    del document["raw_values"]
    results = taken(tmp_path / "out", packed(tmp_path / "a.gz", document))
    assert results.records[0]["workloads"]["download"]["goodput_mbit_s"] == pytest.approx(8)


def test_a_time_without_its_zone_is_settled_by_the_values(tmp_path: Path) -> None:
    two_hours_off = (
        datetime.datetime.fromtimestamp(ZERO_S, datetime.UTC) + datetime.timedelta(hours=2)
    ).strftime("%Y-%m-%dT%H:%M:%S.%f")
    document = flent({"Ping (ms) ICMP": PINGS}, version=2, T0=two_hours_off)
    results = taken(tmp_path / "out", packed(tmp_path / "a.gz", document))
    assert results.records[0]["started"] == "2027-01-15T08:00:00+00:00"
    assert results.pings["time_s"].drop_nulls().to_list() == pytest.approx([0.2, 0.4, 0.8])


def test_the_same_file_packed_otherwise_is_the_same_test(tmp_path: Path) -> None:
    document = flent({"Ping (ms) ICMP": PINGS})
    plain, zipped = written(tmp_path / "a.flent", document), packed(tmp_path / "a.flent.gz", document)
    bzipped = tmp_path / "a.flent.bz2"
    bzipped.write_bytes(bz2.compress(plain.read_bytes()))
    assert len(taken(tmp_path / "out", plain, zipped, bzipped).records) == 1


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (flent({"Ping (ms) ICMP": PINGS}, version=5), "version: found 5; expected 1 to 4"),
        (flent({}), "results: found an empty table; expected a file with series"),
        (
            flent({"cpu::load": PINGS}),
            "results: found only cpu::load; expected transfers (TCP ...), pings or pages",
        ),
        (flent({"Ping (ms) ICMP": PINGS}, T0="noon"), 'metadata.T0: found "noon"; expected a time as'),
        (flent({"Ping (ms) ICMP": [*PINGS, {"seq": 2**40, "val": 1}]}), "a number less than 1000000 above"),
        (flent({"TCP upload": [{"t": "x", "val": 1}]}), 'raw_values.TCP upload[0].t: found "x"'),
    ],
)
def test_what_is_wrong_is_named_by_its_place(tmp_path: Path, document: object, said: str) -> None:
    file = packed(tmp_path / "wrong.flent.gz", document)
    with pytest.raises(ForeignFileError) as raised:
        read(file)
    assert str(raised.value).startswith(f"{file}: ")
    assert said in str(raised.value)
