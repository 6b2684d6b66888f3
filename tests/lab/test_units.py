"""Sizes, rates and times are read exactly, and a wrong one says what would do."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bentpipe.lab import units
from bentpipe.lab.errors import FaultError
from bentpipe.lab.quantities import QueueAmount, parse_line_limit, parse_queue_amount


@pytest.mark.parametrize(
    ("text", "time_ns"),
    [
        ("550 ms", 550_000_000),
        ("0.6 ms", 600_000),
        ("0.1 ms", 100_000),
        ("-3 s", -3_000_000_000),
        ("30s", 30_000_000_000),
        ("1.5e3 us", 1_500_000),
        (".5 s", 500_000_000),
        ("2 min", 120_000_000_000),
        ("1 h", 3_600_000_000_000),
        ("7 ns", 7),
        ("0 s", 0),
    ],
)
def test_a_time_is_read_to_the_nanosecond(text: str, time_ns: int) -> None:
    assert units.parse_time(text) == time_ns


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("100 kB", 100_000),
        ("40 MB", 40_000_000),
        ("1.5 kB", 1500),
        ("1 KiB", 1024),
        ("2 MiB", 2 * 2**20),
        ("1 GiB", 2**30),
        ("0.1 GB", 100_000_000),
        ("104857601 B", 104_857_601),
    ],
)
def test_decimal_prefixes_are_powers_of_ten_and_binary_ones_of_two(text: str, size_bytes: int) -> None:
    assert units.parse_size(text) == size_bytes


@pytest.mark.parametrize(
    ("text", "rate_bit_s"),
    [
        ("16 Mbit/s", 16_000_000),
        ("2.5 Gbit/s", 2_500_000_000),
        ("64 kbit/s", 64_000),
        ("1 bit/s", 1),
        ("2 MB/s", 16_000_000),
        ("175 KiB/s", 1_433_600),
        ("16 Mbps", 16_000_000),
        ("16mbit", 16_000_000),
        ("16 Mbit", 16_000_000),
        ("16 mbps", 16_000_000),
        ("16 MBit/s", 16_000_000),
        ("64 Kbps", 64_000),
        ("2.5 gbps", 2_500_000_000),
        ("9600 bps", 9600),
    ],
)
def test_a_rate_is_read_to_the_bit_per_second(text: str, rate_bit_s: int) -> None:
    assert units.parse_rate(text) == rate_bit_s


@given(st.integers(-units.MOST_TIME_NS, units.MOST_TIME_NS))
def test_a_time_that_is_written_reads_back_as_itself(time_ns: int) -> None:
    assert units.parse_time(units.format_time(time_ns)) == time_ns


@given(st.integers(0, units.MOST_SIZE_BYTES))
def test_a_size_that_is_written_reads_back_as_itself(size_bytes: int) -> None:
    assert units.parse_size(units.format_size(size_bytes)) == size_bytes


@given(st.integers(1, units.MOST_RATE_BIT_S))
def test_a_rate_that_is_written_reads_back_as_itself(rate_bit_s: int) -> None:
    assert units.parse_rate(units.format_rate(rate_bit_s)) == rate_bit_s


@given(st.integers(0, 10**9), st.sampled_from(sorted(units.SIZE_UNITS)))
def test_the_unit_multiplies_and_nothing_is_rounded(number: int, unit: str) -> None:
    try:
        assert units.parse_size(f"{number} {unit}") == number * units.SIZE_UNITS[unit]
    except FaultError as fault:
        assert number * units.SIZE_UNITS[unit] > units.MOST_SIZE_BYTES
        assert fault.remedy == "expected at most 1000000000 GB"


@pytest.mark.parametrize(
    ("parse", "value", "found", "remedy"),
    [
        (units.parse_time, 550, "550, a number without a unit", '"550 ms"'),
        (units.parse_time, "550", "a number without a unit", '"550 ms"'),
        (units.parse_time, "5 sec", 'but "sec" is not a unit of', 'did you mean "5 s"?'),
        (units.parse_time, "0.1 ns", "finer than that", "a whole number of ns"),
        (units.parse_time, "1e99 s", "out of range", "at most 1000000000 s"),
        (units.parse_time, "1e300 s", '"1e300 s", whose number is out of range', '"550 ms"'),
        (units.parse_time, "1e-999999999 s", "whose number is out of range", '"550 ms"'),
        (units.parse_size, f"{'9' * 5000} B", "whose number is out of range", '"100 kB"'),
        (parse_queue_amount, "1e999999999 bdp", "out of range", '"1 bdp"'),
        (parse_queue_amount, "1e7 bdp", "out of range", '"1 bdp"'),
        (units.parse_size, "-1 B", "negative", "0 B or more"),
        (units.parse_size, "0.3 B", "finer than that", "a whole number of bytes"),
        (units.parse_size, "100 KB", 'but "KB" is not a unit of', 'did you mean "100 kB"?'),
        (units.parse_size, "10M", 'but "M" is not a unit of', 'did you mean "10 MB"?'),
        (units.parse_size, "10 Mbit", 'but "Mbit" is not a unit of', "Units of size"),
        (units.parse_rate, "16M", 'but "M" is not a unit of', 'did you mean "16 Mbit/s"?'),
        (units.parse_rate, "16 Mb/s", "is not a unit of", '"16 Mbit/s" (bits) or "16 MB/s" (bytes)?'),
        (units.parse_rate, "16 Mb", "is not a unit of", '"16 Mbit/s" (bits) or "16 MB/s" (bytes)?'),
        (units.parse_rate, "2 MB", "is not a unit of", 'did you mean "2 MB/s"?'),
        (units.parse_rate, "2 MBps", "is not a unit of", 'did you mean "2 MB/s"?'),
        (units.parse_rate, "2 Mbit/h", "is not a unit of", 'did you mean "2 Mbit/s"?'),
        (units.parse_rate, "16 MBPS", "is not a unit of", "Units of rate"),
        (units.parse_rate, "20,5mbit", "is not a unit of", 'did you mean "20.5 Mbit/s"?'),
        (units.parse_time, "1,500 ms", "is not a unit of", 'did you mean "1.500 ms" or "1500 ms"?'),
        (units.parse_rate, "20,5 light", "is not a unit of", "Units of rate"),
        (units.parse_rate, "0 bit/s", "not above zero", "a rate above zero"),
        (units.parse_probability, 1.5, "out of range", "from 0 to 1"),
        (units.parse_probability, float("nan"), "out of range", "from 0 to 1"),
        (units.parse_packets, "-1 packets", "negative", "0 packets or more"),
        (units.parse_packets, "1.5 packets", "finer than that", "a whole number of packets"),
    ],
)
def test_a_wrong_value_says_what_was_found_and_what_would_do(
    parse: Callable[[object], object], value: object, found: str, remedy: str
) -> None:
    with pytest.raises(FaultError) as raised:
        parse(value)
    assert found in (raised.value.found or "")
    assert remedy in raised.value.remedy


@pytest.mark.parametrize("value", [True, None, [], {}, "", "fast", "ms", "1 2 s", "\x00", "٣ s"])
def test_what_is_no_quantity_is_refused(value: object) -> None:
    for parse in (units.parse_time, units.parse_size, units.parse_rate, parse_queue_amount, parse_line_limit):
        with pytest.raises(FaultError):
            parse(value)


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("100 kB", QueueAmount("bytes", 100_000)),
        ("250 packets", QueueAmount("packets", 250)),
        ("1 packet", QueueAmount("packets", 1)),
        ("60 ms", QueueAmount("delay", 60_000_000)),
        ("1 bdp", QueueAmount("bdp", 1.0)),
        ("0.25 BDP", QueueAmount("bdp", 0.25)),
        ("unlimited", "unlimited"),
    ],
)
def test_a_queue_is_given_in_bytes_packets_time_or_bdp(text: str, amount: object) -> None:
    assert parse_queue_amount(text) == amount


@given(st.text(max_size=40))
def test_no_text_breaks_a_parser(text: str) -> None:
    for parse in (units.parse_time, units.parse_size, units.parse_rate, parse_queue_amount, parse_line_limit):
        try:
            parse(text)
        except FaultError as fault:
            assert fault.remedy
