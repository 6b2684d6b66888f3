"""bentpipe's gateways in a run of `sim`: their figures, what is said of them, and what is refused."""

import polars as pl
import pytest

import bentpipe
from bentpipe import LabError
from bentpipe.analysis import limits
from bentpipe.report import explained, gateway_words
from bentpipe.runs.summary import summary

LAB = """
duration = "30 s"
[path]
rtt = "550 ms"
rate = "16 Mbit/s"
queue = "200 kB"
loss = 0.01
[[workload]]
name = "download"
kind = "bulk"
omit = "4 s"
[[workload]]
name = "keys"
kind = "interactive"
start = "5 s"
count = 100
interval = "200 ms"
[[variant]]
name = "cured"
set = { gateway = {} }
"""
ALONE = LAB[: LAB.index("[[variant]]")]
PAYLOAD_SHARE = 1430 / 1500


@pytest.fixture(scope="module")
def both() -> bentpipe.Results:
    return bentpipe.Lab.loads(LAB).run(engine="sim")


def test_a_download_takes_the_whole_link_and_keystrokes_do_not_wait_for_it(both: bentpipe.Results) -> None:
    plain, cured = both.records
    ceiling = 16 * 0.99 * PAYLOAD_SHARE
    assert plain["workloads"]["download"]["goodput_mbit_s"] < 2
    assert 0.97 * ceiling < cured["workloads"]["download"]["goodput_mbit_s"] < 1.02 * ceiling
    assert cured["workloads"]["keys"]["unanswered"] == 0
    # Two packets of 1500 bytes before it at each end, and a packet that is sent again after 8 ms.
    assert cured["workloads"]["keys"]["p99_ms"] < 550 + 30
    assert plain["workloads"]["keys"]["p99_ms"] > 650


CALL = """
duration = "40 s"
[path]
rtt = "150 ms"
rate = "16 Mbit/s"
queue = "200 kB"
loss = 0.02
[[workload]]
name = "download"
kind = "bulk"
[[workload]]
name = "talk"
kind = "call"
start = "5 s"
time = "30 s"
[[variant]]
name = "cured"
set = { gateway = {} }
"""


def test_a_call_beside_a_download_is_repaired_and_hardly_waits() -> None:
    plain, cured = bentpipe.Lab.loads(CALL).run(engine="sim").records
    assert cured["gateway"]["near"]["datagrams_sent"] == cured["gateway"]["far"]["datagrams_sent"] == 1500
    for direction in ("down", "up"):
        before, after = (it["workloads"]["talk"][direction] for it in (plain, cured))
        assert before["loss"] > 0.01
        assert after["loss"] < 0.005


def test_the_record_has_what_each_gateway_did(both: bentpipe.Results) -> None:
    plain, cured = both.records
    assert "gateway" not in plain
    near, far = cured["gateway"]["near"], cured["gateway"]["far"]
    assert near["connections"] == far["connections"] == 3  # iperf3's two and the keystrokes'
    assert 0.005 < far["channel_loss"] < 0.02
    assert far["exact_repairs"] >= near["came_when_asked"] > 0
    assert near["came_as_sent"] + near["came_by_repair"] + near["came_when_asked"] <= far["packets"]
    assert far["sent_bytes"] >= near["delivered_bytes"]
    assert near["round_trip_s"] == pytest.approx(0.55, rel=0.02)
    assert summary(cured)["gateway"] == cured["gateway"]


def test_goodput_of_the_path_is_what_hosts_were_given(both: bentpipe.Results) -> None:
    run = both.records[1]["run"]
    link = both.link.filter((pl.col("run") == run) & (pl.col("pipe") == "down"))
    near = both.records[1]["gateway"]["near"]
    # All but the bytes of the targets, of which down has none.
    assert link["goodput_bytes"].sum() == near["delivered_bytes"]


def test_the_table_and_explain_say_what_the_gateways_did(both: bentpipe.Results) -> None:
    said = gateway_words.sentence(both.records)
    assert said.startswith("Gateways: connections 3, given to clients ")
    assert gateway_words.sentence(both.records[:1]) == ""
    plain, cured = (limits.explain(both, record) for record in both.records)
    lines = [line for each in (plain, cured) for line in explained.lines(each)]
    told = [line.strip() for line in lines if "Gateway down" in line]
    assert len(told) == 1
    assert "far sent" in told[0]
    assert "at 16 Mbit/s at most" in explained.plain(told[0])
    assert cured.transfers[0].why_none == "TCP ends at the gateways, so no socket sends on the path"
    assert not any("above the path" in line for line in lines)


def test_explain_tells_limits_of_what_crosses_beside_the_gateways_and_how_calls_were() -> None:
    beside = '[[workload]]\nname = "beside"\nkind = "bulk"\n'
    talk = '[[workload]]\nname = "talk"\nkind = "call"\n'
    lab = bentpipe.Lab.loads(ALONE + beside + talk + '[gateway]\ncarries = ["download", "keys", "talk"]\n')

    results = lab.run(engine="sim")
    told = limits.explain(results, results.records[0])
    carried, other = told.transfers
    assert (carried.name, carried.findings) == ("download", ())
    assert (other.name, other.why_none) == ("beside", None)
    assert other.findings
    call = results.records[0]["workloads"]["talk"]
    (line,) = (explained.plain(line) for line in explained.lines(told) if "Call of talk" in line)
    assert f"MOS {call['mos']:.2f}"[:7] in line
    assert line.count(" lost and ") == 2


def test_explain_says_that_a_rate_is_above_that_of_the_path_where_packets_are_dropped_for_it() -> None:
    results = bentpipe.Lab.loads(ALONE).replace("gateway.rate", "20 Mbit/s").run(engine="sim")
    lines = [explained.plain(line) for line in explained.lines(limits.explain(results, results.records[0]))]
    (down,) = (line for line in lines if "Gateway down" in line)
    (up,) = (line for line in lines if "Gateway up" in line)
    assert "20 Mbit/s is above the path's 16 Mbit/s" in down
    assert "above" not in up  # the way up has dropped nothing by its queue


def test_a_rate_of_its_own_is_kept() -> None:
    lab = bentpipe.Lab.loads(ALONE).replace("gateway.rate", "4 Mbit/s")
    (record,) = lab.run(engine="sim").records
    assert record["workloads"]["download"]["goodput_mbit_s"] == pytest.approx(
        4 * PAYLOAD_SHARE * 0.99, rel=0.03
    )
    assert record["pipes"]["down"]["throughput_mbit_s"] <= 4.01


def test_no_queue_stands_though_others_send_on_the_link_too() -> None:
    pings = (
        '[[workload]]\nname = "others"\nkind = "ping"\ncount = 5000\ninterval = "20 ms"\nsize = "1200 B"\n'
    )
    lab = bentpipe.Lab.loads(ALONE.replace('"30 s"', '"100 s"') + pings + "[gateway]\n")
    (record,) = lab.run(engine="sim").records
    # Pings take 3 % of a link that the gateway would fill. 20 ms of it are 40 kB.
    assert record["queue"]["down"]["delay_s_p95"] < 0.02
    assert record["pipes"]["down"]["drops"]["tail"] == 0
    assert record["workloads"]["download"]["goodput_mbit_s"] > 0.9 * 16 * PAYLOAD_SHARE


@pytest.mark.parametrize(
    ("rate", "least", "most"),
    [("fair", 0.9 * 16, 16), ({"cap": "4 Mbit/s"}, 0.9 * 4, 4.01)],
)
def test_a_rate_that_is_found_reaches_the_path_or_its_cap(rate: object, least: float, most: float) -> None:
    lab = bentpipe.Lab.loads(ALONE).replace("gateway.rate", rate).replace("workload.download.omit", "12 s")

    (record,) = lab.run(engine="sim").records
    goodput = record["workloads"]["download"]["goodput_mbit_s"]
    assert least * PAYLOAD_SHARE * 0.99 < goodput < most
    assert record["pipes"]["down"]["throughput_mbit_s"] <= most


def test_a_workload_that_the_gateways_do_not_carry_crosses_beside_them_and_keeps_its_share() -> None:
    beside = '[[workload]]\nname = "beside"\nkind = "bulk"\nomit = "20 s"\n'
    lab = bentpipe.Lab.loads(ALONE + beside + '[gateway]\ncarries = ["download"]\n')
    lab = lab.replace("duration", "120 s").replace("path.loss", 0).replace("path.queue", "1.1 MB")

    (known,) = lab.run(engine="sim").records
    (found,) = lab.replace("gateway.rate", "fair").run(engine="sim").records
    assert found["workloads"]["beside"]["goodput_mbit_s"] > 0.8 * 16 * PAYLOAD_SHARE / 2
    assert known["workloads"]["beside"]["goodput_mbit_s"] < 0.3 * 16 * PAYLOAD_SHARE / 2
    for record in (known, found):
        # A transfer has two, as that of iperf3.
        assert record["gateway"]["near"]["connections"] == 2


@pytest.mark.parametrize(
    ("change", "place", "words"),
    [
        ("[gateway]\nrate = 16\n", "gateway.rate", "16"),
        ('[gateway]\nrate = "unfair"\n', "gateway.rate", '"fair", or { cap = '),
        ('[gateway]\nlaw = "fair"\n', "gateway.law", 'rate = { cap = "8 Mbit/s" } or rate = "fair"'),
        ('[gateway]\ncap = "8 Mbit/s"\n', "gateway.cap", 'rate = { cap = "8 Mbit/s" } or rate = "fair"'),
        ('[gateway]\nrate = { most = "1 Mbit/s" }\n', "gateway.rate", "cap"),
        ('[gateway]\nrate = { cap = "1 bit/s" }\n', "gateway.rate", "1 kbit/s to 1 Tbit/s"),
        ('[gateway]\ncarries = ["upload"]\n', "gateway.carries.0", 'Workloads: "download"'),
        ("[gateway]\nredundancy = 1\n", "gateway.redundancy", "below 1"),
        ('[gateway]\nredundancy = "titrated"\n', "gateway.redundancy", '"adaptive"'),
        ("[gateway]\n[split]\n", "gateway", "leave out one of them"),
        ("[gateway]\n[tunnel]\n", "gateway", "leave out one of them"),
        ('[gateway]\nspeed = "1 Mbit/s"\n', "gateway.speed", "found an unknown key"),
    ],
)
def test_what_a_gateway_cannot_be_is_refused(change: str, place: str, words: str) -> None:
    with pytest.raises(LabError) as told:
        bentpipe.Lab.loads(ALONE + change)
    assert place in str(told.value)
    assert words in str(told.value)


def test_a_path_without_a_rate_asks_for_one() -> None:
    lab = ALONE.replace('rate = "16 Mbit/s"\nqueue = "200 kB"\n', "")
    with pytest.raises(LabError, match=r"gateway.rate: .*since the path has none"):
        bentpipe.Lab.loads(lab + "[gateway]\n")


def test_the_same_seed_gives_the_same_run() -> None:
    lab = bentpipe.Lab.loads(ALONE.replace('"30 s"', '"8 s"') + "[gateway]\n")
    first, second = (lab.run(engine="sim") for _ in range(2))
    assert first.records[0]["gateway"] == second.records[0]["gateway"]
    assert first.link.equals(second.link)
