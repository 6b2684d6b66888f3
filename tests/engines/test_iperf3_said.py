"""What is taken from an iperf3 process's JSON."""

import json
from pathlib import Path

import pytest

from bentpipe.engines.workloads import iperf3

_SAMPLE = Path(__file__).parents[1] / "interchange/samples/down.json"


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ('{"error": "unable to connect to server: Connection refused"}', "no iperf3 server answers: unable"),
        ('{"error": "the server is busy running a test"}', "the iperf3 server is busy with another test"),
        ("iperf3: parameter error\n", "iperf3 carried nothing: iperf3: parameter error"),
        ("[]", "iperf3 carried nothing: []"),
        ("", "iperf3 carried nothing: it gave no reason"),
    ],
)
def test_a_failure_is_said_with_its_reason(output: str, said: str) -> None:
    assert iperf3.failure(output).startswith(said)


def test_a_test_that_did_not_begin_has_no_figures() -> None:
    document = json.loads(_SAMPLE.read_text())
    begun = iperf3.parse(json.dumps(document))
    assert begun is not None
    assert begun.received_bytes > 0
    assert len(begun.intervals) == 2
    # iperf3 3.12 counts from the machine's start then.
    del document["start"]["test_start"]
    for each in (document["intervals"][0]["sum"], document["end"]["sum_received"]):
        each.update(seconds=18214.2, bytes=0)
    said = iperf3.parse(json.dumps(document))
    assert said is not None
    assert said.connected == begun.connected
    assert (said.received_bytes, said.received_s, said.intervals, said.streams) == (0, 0.0, [], [])


@pytest.mark.parametrize("output", ['{"end": {}}', ""])
def test_where_it_names_no_error_the_caller_says_what_that_means(output: str) -> None:
    assert iperf3.failure(output, "too few bytes") == "too few bytes"
