"""What is asked wrongly is answered with one message and status 2; nothing is run and nothing is left."""

from pathlib import Path

import pytest

from invocation import PLAIN, Command

WRONG = {
    "no unit": (PLAIN.replace('"20 ms"', "20"), "rtt"),
    "unknown key": (PLAIN.replace("rate =", "ratte ="), "rate"),
    "out of range": (PLAIN.replace("count = 3", "count = 0"), "count"),
    "negative loss": (PLAIN.replace("[path]", "[path]\nloss = -0.1"), "loss"),
    "missing file": (PLAIN.replace('"20 Mbit/s"', '{ trace = "no.trace", format = "mahimahi" }'), "no.trace"),
    "sweep over nothing": (PLAIN + '[sweep]\n"path.nothing" = [1]\n', "path.nothing"),
    "not TOML": ("title = \n", ":1:"),
    "no workload": ('title = "x"\n', "workload"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_lab_is_one_message_that_names_the_place_and_status_2(
    run: Command, tmp_path: Path, name: str
) -> None:
    text, named = WRONG[name]
    (tmp_path / "wrong.toml").write_text(text)
    said = run("run", "wrong.toml")
    assert said.status == 2
    assert said.stdout == ""
    assert "wrong.toml" in said.stderr
    assert named in said.stderr
    assert "Traceback" not in said.stderr
    assert len(said.stderr.splitlines()) == 1
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["run", "no-such-lab"], "no-such-lab"),
        (["run", "plain.toml", "--set", "path.rrt=1"], "rtt"),
        (["run", "plain.toml", "--set", "nonsense"], "nonsense"),
        (["run", "plain.toml", "--engine", "warp"], "warp"),
        (["run", "plain.toml", "--variant", "nobody"], "nobody"),
        (["run", "plain.toml", "--pcap", "middle"], "middle"),
        (["run", "plain.toml", "--sample", "10"], "--sample"),
        (["run", "plain.toml", "--again", "failed", "--out", "nothing"], "nothing"),
        (["run", "plain.toml", "--again", "perhaps"], "--again"),
        (["run", "plain.toml", "--repeat", "0"], "--repeat"),
        (["run", "plain.toml", "--repeat", "many"], "--repeat"),
        (["run", "plain.toml", "--repeat"], "--repeat"),
        (["run", "plain.toml", "--no-such-option"], "--no-such-option"),
        (["--no-such-option"], "--no-such-option"),
        (["run", "plain.toml", "--out", "plain.toml"], "plain.toml"),
        (["shell"], "LAB"),
        (["report", "nowhere"], "nowhere"),
        (["compare", "."], "run"),
        (["compare", ".", "--require", "goodput = 5"], "--require"),
        (["dance"], "dance"),
    ],
)
def test_a_wrong_request_is_a_message_that_names_it_and_status_2(
    run: Command, tmp_path: Path, arguments: list[str], named: str
) -> None:
    said = run(*arguments)
    assert said.status == 2
    assert said.stdout == ""
    assert named in said.stderr
    assert said.stderr.startswith("bentpipe: ")
    assert len(said.stderr.splitlines()) == 1
    assert not (tmp_path / "runs").exists()


def test_a_command_line_that_is_wrong_is_told_where_the_help_is(run: Command) -> None:
    assert run("run", "plain.toml", "--repeat", "0").stderr.endswith(". See bentpipe run --help\n")
    assert run("dance").stderr.endswith(" See bentpipe --help\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--engine", "warp"], '--engine: found "warp"; expected one of live, sim'),
        (["--repeat", "many"], '--repeat: found "many"; expected a whole number'),
        (["--repeat", "0"], '--repeat: found "0"; expected at least 1'),
    ],
)
def test_a_wrong_value_of_an_option_is_told_in_words_for_people(
    run: Command, arguments: list[str], said: str
) -> None:
    assert run("run", "plain.toml", *arguments).stderr == f"bentpipe: {said}. See bentpipe run --help\n"


def test_without_an_engine_a_lab_is_simulated_and_the_run_says_so(run: Command) -> None:
    said = run("run", "plain.toml", "--out", "out", "--json")
    assert (said.status, [each["engine"] for each in said.objects]) == (0, ["sim"])
    assert said.stderr.endswith(
        "Engine: sim, a model in virtual time. On this machine's kernel: add --engine live\n"
    )
    named = run("run", "plain.toml", "--engine", "sim", "--out", "named")
    assert "--engine live" not in named.stderr


@pytest.mark.parametrize(
    "needs",
    [
        PLAIN + '[[workload]]\nname = "mine"\nkind = "exec"\ncommand = ["true"]\n',
        PLAIN + '[host]\nsysctl = { "net.ipv4.tcp_mtu_probing" = 1 }\n',
        PLAIN + '[host]\ncongestion_control = "yeah"\n',
    ],
)
def test_a_lab_that_needs_a_kernel_says_which_engine_has_one(
    run: Command, tmp_path: Path, needs: str
) -> None:
    (tmp_path / "needs.toml").write_text(needs)
    said = run("run", "needs.toml")
    assert (said.status, said.stdout) == (2, "")
    assert said.stderr.endswith("add `--engine live`\n")


def test_what_live_cannot_do_is_said_before_anything_runs(run: Command) -> None:
    said = run("run", "plain.toml", "--engine", "live", "--pcap", "near")
    assert (said.status, said.stdout) == (2, "")
    assert said.stderr == "bentpipe: --pcap near: the lab has no near host; expected client or server\n"


def test_a_variant_that_the_engine_cannot_run_is_left_out_and_the_rest_runs(
    run: Command, tmp_path: Path
) -> None:
    variant = '[[variant]]\nname = "probing"\nset = { "host.sysctl.net.ipv4.tcp_mtu_probing" = 1 }\n'
    (tmp_path / "lab.toml").write_text(PLAIN + variant)
    said = run("run", "lab.toml", "--engine", "sim", "--quiet", "--json")
    assert (said.status, [each["variant"] for each in said.objects]) == (0, ["as is"])
    assert said.stderr.startswith(
        'bentpipe: variant "probing" is left out: client.sysctl: found "net.ipv4.tcp_mtu_probing"'
    )


def test_a_folder_that_holds_something_else_is_left_alone(run: Command, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "thesis.txt").write_text("years of work")
    said = run("run", "plain.toml", "--out", "mine")
    assert said.status == 2
    assert [path.name for path in folder.iterdir()] == ["thesis.txt"]


def test_help_names_the_choices(run: Command) -> None:
    said = run("run", "--help").stdout
    assert "<live|sim>" in said
    assert "<failed|unreliable>" in said


def test_help_shows_examples_and_every_command(run: Command) -> None:
    assert all(word in run("--help").stdout for word in ("run", "report", "compare", "shell", "labs"))
    for command in ("run", "report", "compare", "shell"):
        said = run(command, "--help")
        assert said.status == 0
        assert f"bentpipe {command}" in said.stdout


def test_the_labs_that_come_with_it_are_listed_and_load_by_name(run: Command) -> None:
    assert "effects-of-latency" in run("labs").stdout
    # Loaded by its name: only then is the change to a key that it does not have a fault.
    assert "path.rrt" in run("run", "effects-of-latency", "--set", "path.rrt=1").stderr
    assert run("version").stdout.startswith("bentpipe 0.")
    assert run("--version").stdout == run("version").stdout
    assert run("schema").stdout.startswith("{")


def test_a_folder_that_may_not_be_written_is_named(run: Command) -> None:
    for out in ("/proc/runs", "/proc"):
        said = run("run", "plain.toml", "--out", out)
        assert said.status == 2
        assert said.stderr.splitlines()[-1].startswith(f"bentpipe: {out} ")
        assert "Traceback" not in said.stderr
