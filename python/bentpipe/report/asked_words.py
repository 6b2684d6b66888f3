"""A workload's settings in a few words: a file of 105 MB, 5 times; 40 MB, 8 streams."""

from collections.abc import Mapping
from typing import Any

from bentpipe.words.wording import duration, plural, size


def asked_words(spec: Mapping[str, Any]) -> str:
    """Empty for a kind whose name says it all."""
    match spec.get("kind"):
        case "bulk":
            return ", ".join([_amount(spec), *_several(spec.get("streams", 1), "stream")])
        case "http":
            return ", ".join([_fetched(spec), *_several(spec.get("connections", 1), "connection")])
        case "channels":
            return (
                f"{plural(spec.get('channels', 1), 'channel')} to {plural(spec.get('servers', 1), 'server')}"
            )
        case "interactive" | "call":
            return _messages(spec)
        case "ping":
            return plural(spec.get("count", 1), "ping")
        case _:
            return ""


def _amount(spec: Mapping[str, Any]) -> str:
    if spec.get("size_bytes"):
        return size(spec["size_bytes"])
    return duration(spec["time_ns"] / 1e9) if spec.get("time_ns") else "to the run's end"


def _messages(spec: Mapping[str, Any]) -> str:
    """300 messages, one every 200 ms; of a call, how long it lasts."""
    if spec.get("kind") == "call":
        return _amount({"time_ns": spec.get("time_ns")})
    if spec.get("count"):
        lasts = plural(spec["count"], "message")
    else:
        lasts = f"messages {_amount({'time_ns': spec.get('time_ns')})}"
    mean = " on average" if spec.get("gaps") == "exponential" else ""
    return f"{lasts}, one every {duration(spec['interval_ns'] / 1e9)}{mean}"


def _fetched(spec: Mapping[str, Any]) -> str:
    objects, times = spec.get("objects_bytes"), spec.get("fetches", 1)
    if objects:
        what = f"a page of {plural(len(objects), 'object')}, {size(sum(objects))}"
    elif spec.get("popularity"):
        what = f"one of {plural(spec['popularity']['objects'], 'object')} of {size(spec['size_bytes'])}"
    else:
        what = f"a file of {size(spec.get('size_bytes') or 0)}"
    return what if times == 1 else f"{what}, {times} times"


def _several(count: int, noun: str) -> list[str]:
    return [plural(count, noun)] if count > 1 else []
