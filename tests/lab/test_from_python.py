"""Labs from texts and from Python values, and labs with a value replaced."""

from __future__ import annotations

import inspect
import itertools
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bentpipe
from bentpipe.errors import LabError
from bentpipe.lab.load import Lab
from bentpipe.lab.models.lab import LabFile
from bentpipe.lab.models.path import Path as LongPath
from bentpipe.lab.models.path import PipeKeys
from bentpipe.lab.models.queue import CodelQueue
from bentpipe.lab.models.workload import Bulk
from bentpipe.lab.quantities import QueueAmount
from bentpipe.lab.shipped import shipped_labs
from bentpipe.lab.values import LabKeys
from bentpipe.words.written import toml

from .conftest import WORK

WriteLab = Callable[[str], Path]
GEO = '[path]\nrtt = "550 ms"\nrate = "16 Mbit/s"\nqueue = "100 kB"\n'
BULK = {"name": "download", "kind": "bulk", "time": "5 s"}
CONTRACT = Path(__file__).with_name("contract.toml")


def geo(**more: Any) -> Lab:
    path = {"rtt": "550 ms", "rate": "16 Mbit/s", "queue": "100 kB"}
    return Lab(**{"path": path, "workload": [BULK], **more})


def test_a_lab_from_a_text_has_the_points_of_the_file_with_that_text(lab_file: WriteLab) -> None:
    assert Lab.loads(GEO + WORK, name="x").points() == Lab.load(lab_file(GEO + WORK)).points()


def test_a_lab_from_values_has_the_points_of_the_file_that_says_the_same() -> None:
    assert geo().points() == Lab.loads(GEO + WORK).points()


def test_a_labs_models_can_be_given_instead_of_tables() -> None:
    # From Python a checker sees the fields' own types; a lab's texts are read into them.
    path = LongPath.model_validate({"rtt": "550 ms", "rate": "16 Mbit/s", "queue": "100 kB"})
    assert geo(path=path, workload=[Bulk.model_validate(BULK)]).points() == geo().points()


def test_a_model_within_a_table_counts_as_well() -> None:
    codel = CodelQueue.model_validate({"discipline": "codel", "limit": "60 ms"})
    as_table = {"rate": "16 Mbit/s", "queue": {"discipline": "codel", "limit": "60 ms"}}
    assert geo(path={"rate": "16 Mbit/s", "queue": codel}).points() == geo(path=as_table).points()


@pytest.mark.parametrize("file", [CONTRACT, *shipped_labs().values()], ids=lambda file: file.stem)
def test_the_models_of_a_lab_are_written_as_a_lab_that_reads_as_the_same_models(file: Path) -> None:
    document = tomllib.loads(file.read_text(encoding="utf-8"))
    base = {key: value for key, value in document.items() if key not in {"sweep", "variant"}}
    model = LabFile.model_validate(base)
    written = model.model_dump(mode="json", exclude_unset=True, exclude_none=True, warnings=False)
    assert LabFile.model_validate(written) == model


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ("250 packets", ("packets", 250)),
        ("0.0000001 bdp", ("bdp", 1e-7)),
        ("1.5 bdp", ("bdp", 1.5)),
        ("60 ms", ("delay", 60_000_000)),
        ("100 kB", ("bytes", 100_000)),
    ],
)
def test_a_queues_limit_is_written_with_its_unit(limit: str, words: tuple[str, float]) -> None:
    pipe = PipeKeys.model_validate({"queue": limit})
    assert pipe.queue == QueueAmount(*words)  # type: ignore[arg-type]
    assert PipeKeys.model_validate(pipe.model_dump(exclude_unset=True)) == pipe


@pytest.mark.parametrize("file", [CONTRACT, *shipped_labs().values()], ids=lambda file: file.stem)
def test_every_lab_can_be_given_as_values_and_is_written_as_toml(file: Path) -> None:
    document = tomllib.loads(file.read_text(encoding="utf-8"))
    lab = Lab(name=file.stem, folder=file.parent, **document)
    assert tomllib.loads(lab.text) == document
    assert [cell.spec for cell, *_ in lab.cells()] == [cell.spec for cell, *_ in Lab.load(file).cells()]


_KEYS = st.text("a.b \"é\x7f'\n", max_size=4)
_VALUES = st.recursive(
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text("a.b \"é\x7f'\n", max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), _VALUES, max_size=4))
def test_what_is_written_as_toml_is_read_as_the_same(document: dict[str, Any]) -> None:
    assert tomllib.loads(toml(document)) == document


def test_a_key_of_the_lab_file_is_a_key_in_python() -> None:
    assert set(get_type_hints(LabKeys)) == set(LabFile.model_fields)


def test_a_key_that_is_none_is_as_if_not_given() -> None:
    assert geo(near=None, host={"sack": None}).points() == geo().points()


def test_numpys_numbers_and_tuples_are_numbers_and_lists() -> None:
    rmem = (4096, np.int64(131072), 6291456)
    host = {"tcp_rmem": rmem, "initcwnd": np.int32(20)}
    (point,) = geo(host=host, path={"rtt": "550 ms", "loss": np.float64(0.01)}).points()
    assert (point.spec.client.tcp_rmem, point.spec.client.initcwnd) == ((4096, 131072, 6291456), 20)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"path": {"rtt": 550}}, "Lab(...): path.rtt: found 550, a number without a unit"),
        ({"pth": {}}, 'Lab(...): pth: found an unknown key; did you mean "path"?'),
        ({"path": {"rtt": object()}}, "Lab(...): path.rtt: found a value of the type object"),
        ({"path": {1: "x"}}, "Lab(...): path: found the key 1"),
        (
            {"workload": [BULK | {"kind": "bluk"}]},
            'workload.download.kind: found "bluk"; did you mean "bulk"?',
        ),
        ({"name": "a/b"}, 'name: found "a/b"; expected up to 64 letters'),
        ({"name": ".hidden"}, 'name: found ".hidden"'),
    ],
)
def test_what_is_wrong_with_a_value_is_said_with_its_key(keys: dict[str, Any], said: str) -> None:
    with pytest.raises(LabError) as caught:
        geo(**keys)
    assert said in str(caught.value)


def test_a_list_that_holds_itself_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(LabError, match="more than 32 tables in each other"):
        geo().replace("path.outages", endless)


def test_what_is_wrong_with_a_text_is_said_with_its_line() -> None:
    with pytest.raises(LabError, match=r"^Lab\.loads:2: path\.rtt: found 550, "):
        Lab.loads("[path]\nrtt = 550\n" + WORK)
    with pytest.raises(LabError, match=r"^Lab\.loads:2.*invalid TOML"):
        Lab.loads("[path]\nrtt\n")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"set": "path.rtt=80 ms"}, r'^set: found "path.rtt=80 ms"; expected a list of texts'),
        ({"set": [5]}, r"^set: found 5; expected texts"),
        ({"set": (text for text in ["seed=5"])}, "^set: found <generator"),
        ({"variants": "as is"}, r'^variants: found "as is"; expected a list of texts, such as variants='),
        ({"variants": [None]}, "^variants: found None"),
        ({"name": 5}, "^name: found 5"),
    ],
)
def test_a_text_in_place_of_a_list_of_texts_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(LabError, match=said):
        Lab.loads(geo().text, **given)
    with pytest.raises(LabError, match=r"^Lab\.loads: found a value of the type PosixPath"):
        Lab.loads(Path("lab.toml"))  # type: ignore[arg-type]


def test_a_replaced_value_makes_a_new_lab_and_leaves_the_old_one() -> None:
    lab = geo()
    changed = lab.replace("path.rtt", "300 ms").replace("workload.download.streams", 8)
    assert (lab.points()[0].spec.base_rtt_ns, changed.points()[0].spec.base_rtt_ns) == (
        550_000_000,
        300_000_000,
    )
    assert (
        changed.points() == Lab.loads(GEO + WORK, ["path.rtt=300 ms", "workload.download.streams=8"]).points()
    )


def test_a_replaced_value_is_one_of_the_options_that_the_command_line_would_need() -> None:
    lab = geo().replace("path.queue", {"limit": "1 bdp", "discipline": "codel"})
    assert lab.options == ('--set path.queue={ limit = "1 bdp", discipline = "codel" }',)
    again = Lab.loads(GEO + WORK, [option.removeprefix("--set ") for option in lab.options])
    assert again.points() == lab.points()


def test_a_replaced_value_pins_a_swept_key_and_goes_over_the_variants() -> None:
    lab = geo(
        sweep={"path.rtt": ["11 ms", "550 ms"]},
        variant=[{"name": "bbr", "set": {"host.congestion_control": "bbr"}}],
    )
    pinned = lab.replace("path.rtt", "30 ms").replace("host.congestion_control", "reno")
    assert [(p.variant, p.point, p.spec.client.congestion_control) for p in pinned.points()] == [
        ("as is", {"path.rtt": "30 ms"}, "reno"),
        ("bbr", {"path.rtt": "30 ms"}, "reno"),
    ]


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("path.rtt", 300, 'replace("path.rtt", 300): path.rtt: found 300, a number without a unit'),
        (
            "path.rrt",
            "300 ms",
            'replace("path.rrt", "300 ms"): path.rrt: found the unknown key "path.rrt"',
        ),
        ("path.rtt", b"300 ms", "found a value of the type bytes"),
        (3, "300 ms", "found a key of the type int"),
        ("path.rtt", None, "found None"),
    ],
)
def test_a_value_that_cannot_be_put_there_is_refused_at_once(key: Any, value: Any, said: str) -> None:
    with pytest.raises(LabError) as caught:
        geo().replace(key, value)
    assert said in str(caught.value)


def test_seeds_are_those_of_each_points_runs() -> None:
    lab = geo(repeat=5, sweep={"path.rtt": ["11 ms", "550 ms"]}).with_seeds(range(10, 13))
    assert [(p.seed, p.repeat_index) for p in lab.points()] == [(10, 0), (11, 1), (12, 2)] * 2
    assert [p.seed for p in lab.replace("path.mtu", 1400).points()] == [10, 11, 12] * 2


@pytest.mark.parametrize(
    "seeds", [20, [], [1, 1], [-1], [1.5], ["1"], [True], [2**62 + 1], itertools.count()]
)
def test_seeds_that_are_no_seeds_are_refused(seeds: Any) -> None:
    with pytest.raises(LabError, match=r"^seeds: "):
        geo().with_seeds(seeds)


def test_a_lab_says_its_path_and_its_work() -> None:
    lab = geo(title="GEO <b>", sweep={"path.rtt": ["11 ms", "550 ms"]}, repeat=3)
    said = repr(lab)
    assert "base round trip 11 ms, rate 16 Mbit/s" in said
    assert "download (bulk, down, 5 s)" in said
    assert "path.rtt = 11 ms, 550 ms" in said
    assert "2, 3 runs each" in said
    assert "GEO &lt;b&gt;" in lab._repr_html_()


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ({"queue": "100 kB"}, "queue 100 kB, MTU"),
        ({"queue": "250 packets"}, "queue 250 packets, MTU"),
        ({"queue": "60 ms"}, "queue 60 ms, MTU"),
        ({}, "queue 1 bdp, MTU"),
        ({"queue": {"limit": "0.5 bdp", "discipline": "head-drop"}}, "queue 0.5 bdp (head-drop), MTU"),
        ({"queue": "100 kB", "up": {"queue": "30 kB"}}, "queue 100 kB down, 30 kB up, MTU"),
    ],
)
def test_a_lab_says_its_queues(path: dict[str, Any], said: str) -> None:
    lab = bentpipe.Lab(path={"rtt": "550 ms", "rate": "16 Mbit/s"} | path, workload=[BULK], duration="5 s")
    assert said in repr(lab)


def test_a_queue_that_nothing_limits_is_not_told() -> None:
    assert "queue" not in repr(bentpipe.Lab(path={"rtt": "5 ms"}, workload=[BULK], duration="5 s"))


def test_hidden_characters_of_a_lab_are_shown_by_their_escapes() -> None:
    assert "\x1b" not in repr(geo(title="\x1b[31mred"))
    assert "\x1b" not in geo(title="\x1b[31mred")._repr_html_()


def test_a_lab_from_python_that_runs_commands_does_not_count_as_one_that_comes_with_bentpipe() -> None:
    lab = bentpipe.Lab(workload=[{"kind": "exec", "command": ["true"], "time": "1 s"}], duration="2 s")
    with pytest.raises(bentpipe.EngineError, match="Nothing was run"):
        lab.run(engine="live")


def test_every_error_that_bentpipe_exports_is_of_one_family() -> None:
    exported = [getattr(bentpipe, name) for name in bentpipe.__all__]
    errors = [each for each in exported if inspect.isclass(each) and issubclass(each, Exception)]
    assert len(errors) >= 7
    assert all(issubclass(each, bentpipe.BentpipeError) for each in errors)
