"""The site of docs/: it builds strictly, and its checks find what they are for."""

import shutil
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def script(pytestconfig: pytest.Config) -> Any:
    loader = SourceFileLoader("build_site", str(pytestconfig.rootpath / "scripts" / "site"))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def built(script: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checks do not read the simulator's module: where it was not built, an empty file stands for it."""
    folder = tmp_path_factory.mktemp("site")
    playground = shutil.copytree(script.ROOT / script.PLAYGROUND, folder / "playground")
    (playground / "bentpipe.wasm").touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(script, "PLAYGROUND", str(playground))
        assert script.build(folder / "out") == []
    return folder / "out"


def test_every_page_of_docs_is_a_page_of_the_site(built: Path, pytestconfig: pytest.Config) -> None:
    docs = pytestconfig.rootpath / "docs"
    pages = {page.relative_to(docs).with_suffix(".html") for page in docs.rglob("*.md")}
    assert len(pages) > 20
    folders = ("labs", "lessons")
    missing = {page for page in pages if not (built / page).is_file()}
    assert missing == {Path(folder) / "README.html" for folder in folders}
    assert all((built / folder / "index.html").is_file() for folder in folders)


def test_the_notebook_is_a_page_with_its_pictures(built: Path) -> None:
    page = (built / "first-steps-notebook.html").read_text(encoding="utf-8")
    assert page.count("images/first-steps-notebook-") >= 2
    assert "cell-output" in page


def test_the_search_index_holds_the_pages(built: Path) -> None:
    index = (built / "search.json").read_text(encoding="utf-8")
    assert "The queue is too short" in index
    assert "tcp_rmem" in index


@pytest.mark.parametrize(
    ("html", "fault"),
    [
        ('<a href="gone.html">x</a>', "page.html: links to gone.html, which does not exist"),
        ('<a href="#gone">x</a>', "page.html: links to #gone, but that page has no such place"),
        ('<img src="gone.png" alt="x">', "page.html: loads gone.png, which does not exist"),
        ('<img src="there.png">', "page.html: the picture there.png has no alternative text"),
        ("<p>For example:\n- one</p>", "page.html: a list or table that is shown as text: - one"),
        (
            '<script src="https://cdn.example/x.js"></script>',
            "page.html: loads https://cdn.example/x.js from another host",
        ),
        (
            '<link rel="stylesheet" href="//fonts.example/f">',
            "page.html: loads //fonts.example/f from another host",
        ),
    ],
)
def test_a_fault_of_a_page_is_named(script: Any, tmp_path: Path, html: str, fault: str) -> None:
    (tmp_path / "there.png").touch()
    (tmp_path / "page.html").write_text(f'<p id="here"></p><a href="#here">x</a>{html}', encoding="utf-8")
    assert script.faults(tmp_path) == [fault]


def test_a_list_and_a_table_need_no_empty_line_before_them(script: Any) -> None:
    assert (
        script.blocks_apart("Two:\n- one\n- two\n  more\n| a |\n")
        == "Two:\n\n- one\n- two\n  more\n\n| a |\n"
    )
    assert script.blocks_apart("- one:\n\n  | a |\n  |---|\n") == "- one:\n\n    | a |\n    |---|\n"
    assert script.blocks_apart("```\nx\n- y\n```\n") == "```\nx\n- y\n```\n"


def test_a_style_that_loads_from_another_host_is_named(script: Any, tmp_path: Path) -> None:
    (tmp_path / "site.css").write_text("p { background: url(https://cdn.example/x.png) }", encoding="utf-8")
    assert script.faults(tmp_path) == ["site.css: loads https://cdn.example/x.png from another host"]


def test_a_page_that_the_navigation_does_not_name_is_a_fault(script: Any, tmp_path: Path) -> None:
    (tmp_path / "new.md").touch()
    config = {"project": {"nav": [{"Old": ["old.md"]}]}}
    assert script.missing_from_navigation(config, tmp_path) == [
        "new.md is not in the navigation (zensical.toml)",
        "the navigation (zensical.toml) names old.md, which does not exist",
    ]
