"""The shape of a run's record (run.json), as far as tables, charts and pages rely on it.

A record may come from anywhere. It is checked once, when it is read: what is an object, a list, a number or a
text, and that numbers are finite and fit in a float. Keys that are not named here may hold anything else.
"""

import json
import math
import re
import sys
from collections.abc import Container
from typing import Any, NoReturn

from bentpipe.errors import StoreError
from bentpipe.runs.place import Place

_NUMBER, _TEXT, _FLAG, _DIRECTION, _ANY = "a number", "text", "true or false", '"down" or "up"', "anything"
_OTHERS = "*"
_NUMBERS = re.compile(
    r".*_(s|ms|us|ns|bytes|share|count|max|mean|p\d+)"
    r"|bytes|packets|multiple|mtu|count|not_finished|sent|lost|retransmits|fetches|finished|failed|flows|channels"
    r"|connections|streams|hits|misses|rate_error|unintended_loss|loss_episodes|oscillation_strength"
)
"""Keys whose value is a number, in the parts of a record that bentpipe names itself."""

_Shape = str | dict[str, Any] | list[Any]
"""A leaf; an object by its keys, `*` for all others; or a list of one shape."""

_FIGURES: _Shape = {_OTHERS: _ANY}
_WAITS: _Shape = {"program": _TEXT, _OTHERS: _ANY}
_WORKLOAD: _Shape = {
    "kind": _TEXT,
    "direction": _DIRECTION,
    "why": _TEXT,
    "cache": _FIGURES,
    "per_second": _FIGURES,
    "per_second_mbit_s": [_NUMBER],
    "per_fetch": [{"cache": _TEXT, _OTHERS: _ANY}],
    "fetch_times": _FIGURES,
    "transfer_times": _FIGURES,
    "object_times": _FIGURES,
    "flow_times": _FIGURES,
    "small_flows": _FIGURES,
    "fct_by_size": [_FIGURES],
    _OTHERS: _ANY,
}
_LOSS: _Shape = {"model": _TEXT, "lost": [_FLAG], _OTHERS: _ANY}
_PIPE: _Shape = {
    "ingress": {"policer": _FIGURES, "loss": _LOSS, _OTHERS: _ANY},
    "queue": {
        "limit": {"unit": _TEXT, _OTHERS: _ANY},
        "discipline": {"name": _TEXT, _OTHERS: _ANY},
        _OTHERS: _ANY,
    },
    "shaper": {"kind": _TEXT, "opportunities_ns": [_NUMBER], _OTHERS: _ANY},
    "propagation": {"jitter": _FIGURES, "limit": {"unit": _TEXT, _OTHERS: _ANY}, _OTHERS: _ANY},
    "channel": {"loss": _LOSS, "outages": [_FIGURES], _OTHERS: _ANY},
    _OTHERS: _ANY,
}
_HOST: _Shape = {"sysctl": _FIGURES, "congestion_control": _TEXT, _OTHERS: _ANY}
_SPEC: _Shape = {
    "path": {"down": _PIPE, "up": _PIPE, _OTHERS: _ANY},
    "client": _HOST,
    "server": _HOST,
    "split": {"host": _HOST, "path": _HOST, _OTHERS: _ANY},
    "gateway": {"host": _HOST, _OTHERS: _ANY},
    "near": {"host": _HOST, "down": _PIPE, "up": _PIPE, _OTHERS: _ANY},
    "workloads": [
        {
            "name": _TEXT,
            "kind": _TEXT,
            "direction": _DIRECTION,
            "objects_bytes": [_NUMBER],
            "popularity": _FIGURES,
            "size": _FIGURES,
            _OTHERS: _ANY,
        }
    ],
    "limits": _FIGURES,
    _OTHERS: _ANY,
}
_RECORD: _Shape = {
    "lab": _TEXT,
    "title": _TEXT,
    "published": _TEXT,
    "engine": _TEXT,
    "variant": _TEXT,
    "status": _TEXT,
    "started": _TEXT,
    "reliable": _FLAG,
    "seed": _NUMBER,
    "repeat_index": _NUMBER,
    "why": [_TEXT],
    "point": _FIGURES,
    "workloads": {_OTHERS: _WORKLOAD},
    "pipes": {_OTHERS: {"drops": {_OTHERS: _NUMBER}, _OTHERS: _ANY}},
    "queue": {_OTHERS: _FIGURES},
    "tunnel": {_OTHERS: {"per_second": {_OTHERS: [_NUMBER]}, _OTHERS: _NUMBER}},
    "split": {_OTHERS: {_OTHERS: _NUMBER}},
    "gateway": {_OTHERS: {_OTHERS: _NUMBER}},
    "engine_error": {
        "hosts": {_OTHERS: {"programs": [_WAITS], _OTHERS: _ANY}},
        "kernel_threads": [_WAITS],
        "reader_waits": {_OTHERS: {"program": _TEXT, "host": _TEXT, "share": _NUMBER, _OTHERS: _ANY}},
        "per_pipe": {_OTHERS: _FIGURES},
        _OTHERS: _ANY,
    },
    "sysctl": {_OTHERS: _FIGURES},
    "machine": _FIGURES,
    "versions": _FIGURES,
    "spec": _SPEC,
    _OTHERS: _ANY,
}
_NAMED_HERE = {"workloads", "pipes", "queue", "engine_error", "spec"}
LARGEST = 1e19
"""Of a figure: beyond 64 bits, and far from where sums and ratios of floats end."""
_DIGITS = 20
"""More than `LARGEST` has no number with fewer."""
_SHOWN = 60


def check(record: dict[str, Any], place: Place) -> None:
    """Raises StoreError, naming the key. Objects and lists that are null are left out, as if never written,
    but those of workloads, where null says something."""
    _check(record, _RECORD, "", place)


_NUMBER_IN_JSON = re.compile(r"[0-9][0-9.]*(e-[0-9]+)?(?=[,\]}])")
"""A number, or its end. No key that is named here has a comma or bracket, so none is changed."""


class Shapes:
    """Reads many records. Those whose texts differ only in numbers are checked once, which is cheaper."""

    def __init__(self) -> None:
        self._sound: set[str] = set()

    def read(self, text: str, place: Place, apart: Container[str] = ()) -> dict[str, Any]:
        """The record that is written so, checked but for the keys `apart`. Raises StoreError or ValueError,
        also where a number of any key is above what a figure may be."""
        record = json.loads(text, parse_int=_integer, parse_float=_float, parse_constant=_refused)
        if not isinstance(record, dict):
            raise StoreError(f"{place} holds a record that is not a JSON object")
        # An escape may write a key's letter with digits.
        shape = None if "\\" in text else _NUMBER_IN_JSON.sub("0", text).replace(": -", ": ")
        if shape in self._sound:
            return record
        checked = {key: value for key, value in record.items() if key not in apart}
        before = json.dumps(checked)
        check(checked, place)
        if shape is not None and json.dumps(checked) == before:
            self._sound.add(shape)
        return {key: value for key, value in record.items() if key in apart or key in checked}


def _integer(text: str) -> int:
    return int(text) if len(text) < _DIGITS else _refused(text)


def _float(text: str) -> float:
    value = float(text)
    return value if abs(value) <= LARGEST else _refused(text)


def _refused(text: str) -> NoReturn:
    raise ValueError(f"{text[:_SHOWN]} is too large")


def _check(value: Any, shape: _Shape, at: str, place: Place) -> None:
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            raise _fault(place, at, value, "an object")
        top = at.partition(".")[0]
        for key, of in list(value.items()):
            wanted: _Shape = shape.get(key) or shape.get(_OTHERS) or _ANY
            if of is None:
                if not isinstance(wanted, str) and (top != "workloads" or at == "workloads"):
                    del value[key]
                continue
            if wanted == _ANY and top in _NAMED_HERE and _NUMBERS.fullmatch(key):
                wanted = _NUMBER
            _check(of, wanted, f"{at}.{key}" if at else key, place)
    elif isinstance(shape, list):
        if not isinstance(value, list):
            raise _fault(place, at, value, "a list")
        for index, of in enumerate(value):
            _check(of, shape[0], f"{at}[{index}]", place)
    else:
        _check_leaf(value, shape, at, place)


def _check_leaf(value: Any, wanted: str, at: str, place: Place) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(value, int) and abs(value) > sys.float_info.max:
        raise _fault(place, at, value, "a number that fits in a float")
    if isinstance(value, float) and not math.isfinite(value):
        raise _fault(place, at, value, "a finite number")
    right = {
        _NUMBER: is_number,
        _TEXT: isinstance(value, str),
        _FLAG: isinstance(value, bool),
        _DIRECTION: isinstance(value, str) and value in {"down", "up"},
        _ANY: True,
    }
    if wanted == _NUMBER and is_number and abs(value) > LARGEST:
        raise _fault(place, at, value, f"a number of at most {LARGEST:g}")
    if not right[wanted]:
        raise _fault(place, at, value, wanted)
    if isinstance(value, dict):
        _check(value, _FIGURES, at, place)
    elif isinstance(value, list):
        for index, of in enumerate(value):
            if of is not None:
                _check_leaf(of, _ANY, f"{at}[{index}]", place)


def _fault(place: Place, at: str, value: Any, expected: str) -> StoreError:
    found = json.dumps(value)
    cut = found if len(found) <= _SHOWN else f"{found[: _SHOWN - 3]}..."
    return StoreError(f"{place}: {at}: found {cut}; expected {expected}")
