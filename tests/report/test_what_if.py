"""Each run's lab as a request to the simulator in the page, and pages with and without it."""

import copy
import json
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

import bentpipe
from bentpipe.engines.base import EngineOptions
from bentpipe.engines.sim_spec import sim_spec
from bentpipe.errors import EngineError
from bentpipe.lab.point import Point
from bentpipe.report import html, what_if
from bentpipe.runs.place import Place
from bentpipe.runs.record_shape import check
from bentpipe.runs.store import Results
from built import needed

LABS = sorted(path.stem for path in (Path(bentpipe.__file__).parent / "labs").glob("*.toml"))
STARTED = """
const { readFileSync } = await import("node:fs");
const module = new WebAssembly.Module(readFileSync(process.argv[1]));
const { memory, input, start, advance, text_at, text_length } = new WebAssembly.Instance(module).exports;
for (const line of readFileSync(process.argv[2], "utf8").trim().split("\\n")) {
  const bytes = new TextEncoder().encode(line), at = input(bytes.length);
  new Uint8Array(memory.buffer, at, bytes.length).set(bytes);
  const runs = start() === 1 && advance() >= 0;
  const why = () => new TextDecoder().decode(new Uint8Array(memory.buffer, text_at(), text_length()));
  console.log(runs ? "runs" : why());
}
"""
"""Begins each request of a file, and says what the simulator says."""


@pytest.fixture(scope="module")
def module() -> Path:
    """The simulator, which takes long to build."""
    return needed(what_if.BUILT / what_if.MODULE, "make wasm")


@lru_cache(maxsize=1)
def _points() -> list[Point]:
    """Of each shipped lab, the first of each variant."""
    found: dict[tuple[str, str], Point] = {}
    for lab in LABS:
        for point in bentpipe.Lab.load(lab, set=["repeat=1"]).points():
            found.setdefault((lab, point.variant), point)
    return list(found.values())


def _record(point: Point) -> dict[str, Any]:
    """As it is read from a folder: without what is null."""
    record: dict[str, Any] = {
        "run": "one",
        "seed": point.seed,
        "variant": point.variant,
        "spec": copy.deepcopy(point.spec.model_dump(mode="json")),
    }
    check(record, Place.of("one"))
    return record


def test_the_simulator_in_a_page_takes_every_shipped_lab_as_the_engine_gives_it(
    module: Path, tmp_path: Path
) -> None:
    asked, refused = [], []
    for point in _points():
        found = what_if.of_run(_record(point))
        assert found is not None
        if "why" in found:
            refused.append(point.spec.gateway.kind if point.spec.gateway else "")
            continue
        assert found["request"]["spec"] == sim_spec(_read(point), EngineOptions())
        asked.append(json.dumps(found["request"]))
    assert {"bentpipe", ""}.isdisjoint(refused), "only other makers' gateways cannot be simulated"
    assert len(asked) > 60
    file = tmp_path / "requests"
    file.write_text("\n".join(asked))
    command = ["node", "--input-type=module", "--eval", STARTED, str(module), str(file)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")
    assert said == ["runs"] * len(asked) + [""]


def _read(point: Point) -> Point:
    """Its spec with the pipes as a record has them, where null is left out."""
    record = _record(point)
    path = point.spec.path.model_copy(update={each: record["spec"]["path"][each] for each in ("down", "up")})
    return Point(**{**vars(point), "spec": point.spec.model_copy(update={"path": path})})


def test_a_lab_that_only_live_runs_is_refused_by_name() -> None:
    work = '[[workload]]\nkind = "exec"\nname = "mine"\ncommand = ["true"]\n'
    lab = bentpipe.Lab.loads('[path]\nrtt = "10 ms"\nrate = "1 Mbit/s"\n' + work)
    found = what_if.of_run(_record(lab.points()[0]))
    assert found is not None
    assert 'workload.mine.kind: found "exec"' in found["why"]


def test_a_record_of_another_version_is_refused_and_an_imported_one_has_no_part() -> None:
    record = _record(_points()[0])
    record["spec"]["path"]["later"] = 1
    found = what_if.of_run(record)
    assert found is not None
    assert "Another version" in found["why"]
    assert what_if.of_run({"run": "one", "workloads": {}}) is None


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Results:
    lab = (
        '[path]\nrtt = "20 ms"\nrate = "2 Mbit/s"\n[[workload]]\nname = "one"\nkind = "bulk"\nsize = "20 kB"'
    )
    folder = tmp_path_factory.mktemp("simulated") / "run"
    bentpipe.simulate(bentpipe.Lab.loads(lab)).save(folder)
    return Results.open(folder)


@pytest.mark.usefixtures("module")
def test_the_part_adds_less_than_700_kb_to_a_page_and_nothing_where_it_is_not_wanted(
    simulated: Results,
) -> None:
    plain = html.render(simulated, with_what_if=False)
    assert "what-if" not in plain
    assert "wasm" not in plain
    added = len(html.render(simulated)) - len(plain)
    assert 100_000 < added < 700_000


def test_without_the_simulator_a_run_says_what_is_missing_and_how_to_get_it(
    simulated: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(what_if, "BUILT", tmp_path)
    assert what_if.of_run(simulated.records[0]) == {"why": what_if.NOT_BUILT}
    assert "`make wasm`" in what_if.NOT_BUILT
    assert 'id="what-if-module"' not in html.render(simulated)


@pytest.mark.usefixtures("module")
def test_a_page_whose_runs_cannot_be_simulated_does_not_have_the_simulator() -> None:
    first = _record(_points()[0])
    gateway = next(
        point for point in _points() if point.spec.gateway and point.spec.gateway.kind != "bentpipe"
    )
    assert what_if.asks([_record(gateway), first])
    assert not what_if.asks([_record(gateway), {"run": "one", "workloads": {}}])


def test_what_the_simulator_cannot_run_is_an_error_of_the_engine() -> None:
    with pytest.raises(EngineError, match="a real program"):
        what_if.request(_record(_of_another_maker()))


def _of_another_maker() -> Point:
    gateways = ((point.spec.gateway, point) for point in _points())
    return next(point for gateway, point in gateways if gateway and gateway.kind != "bentpipe")
