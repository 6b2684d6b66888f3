"""The playground's scripts pass their own tests, and the simulator's module imports nothing."""

import subprocess
from pathlib import Path

HERE = Path(__file__).parents[2]


def done(*command: str) -> str:
    ended = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_the_playgrounds_scripts_do_what_their_tests_claim(wasm: Path) -> None:
    assert wasm.is_file()
    once = ("--pool=threads", "--no-isolate", "--no-file-parallelism")  # what the files share is loaded once
    done(
        "node", "node_modules/vitest/vitest.mjs", "run", "--dir", "tests/web", "--testTimeout", "60000", *once
    )


def test_the_module_imports_nothing_and_names_no_path_of_the_machine_that_built_it(wasm: Path) -> None:
    imports = "WebAssembly.Module.imports(new WebAssembly.Module(fs.readFileSync(process.argv[1])))"
    assert done("node", "-e", f"console.log({imports}.length)", str(wasm)).strip() == "0"
    assert str(Path.home()).encode() + b"/." not in wasm.read_bytes()
    assert str(HERE).encode() not in wasm.read_bytes()
