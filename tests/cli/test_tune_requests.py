"""What `bentpipe tune` refuses: one line that names the option and what was expected."""

import pytest

from invocation import Command

PATH = ("--rate", "20Mbit/s", "--rtt", "300ms")


@pytest.fixture(autouse=True)
def an_ordinary_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is set on this host, even if a request is not refused."""
    monkeypatch.setattr("os.geteuid", lambda: 1000)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--rate", "20Mbit/s", "--rtt", "0ms"), '--rtt: found "0ms"; expected a round trip of 1 us to 60 s'),
        (("--rate", "20Mbit/s", "--rtt", "1ns"), '--rtt: found "1ns"; expected a round trip of 1 us to 60 s'),
        (("--rate", "20Mbit/s", "--rtt", "9h"), '--rtt: found "9h"; expected a round trip of 1 us to 60 s'),
        (("--rate", "1bit/s", "--rtt", "300ms"), '--rate: found "1bit/s"; expected 1 kbit/s to 1 Tbit/s'),
        (
            ("--rate", "0Mbit/s", "--rtt", "300ms"),
            '--rate: found "0Mbit/s", which is not above zero; expected a rate above zero',
        ),
        (
            (*PATH, "--destination", "no.such.invalid"),
            '--destination: found "no.such.invalid"; expected an IP',
        ),
        ((*PATH, "--destination", "300.1.1.1"), '--destination: found "300.1.1.1"; expected an IP address'),
        *(
            ((*PATH, "--destination", own), f'--destination: found "{own}"; expected the address of another')
            for own in ("127.0.0.1", "::1", "0.0.0.0", "224.0.0.1")
        ),
        ((*PATH, "--force"), "--force needs --undo"),
        ((*PATH, "--measure", "true"), "--measure needs --apply"),
        ((*PATH, "--to", "192.0.2.1"), "--to needs --apply"),
        ((*PATH, "--unproved"), "--unproved needs --apply"),
        ((*PATH, "--pairs", "12"), "--pairs needs --apply"),
        ((*PATH, "--less-is-better"), "--less-is-better needs --apply"),
        ((*PATH, "--transfer", "download"), "--transfer needs --from"),
        ((*PATH, "--apply", "--unproved", "--pairs", "3"), "--pairs needs --measure or --to"),
        (
            (*PATH, "--apply", "--to", "192.0.2.1", "--less-is-better"),
            "--less-is-better needs --measure",
        ),
        (("--undo", *PATH), "--rate does nothing with --undo"),
        (("--status", "--until-reboot"), "--until-reboot does nothing with --status"),
        (("--status", "--with", "bbr"), "--with does nothing with --status"),
        (("--undo", "--root", ""), '--root: found ""; expected a folder'),
        (("--status", "--force"), "--force needs --undo"),
    ],
)
def test_a_request_of_tune_that_makes_no_sense_is_one_line(
    run: Command, arguments: tuple[str, ...], said: str
) -> None:
    ended = run("tune", *arguments)
    assert ended.status == 2
    assert ended.stdout == ""
    assert ended.stderr.startswith(f"bentpipe: {said}")
    assert len(ended.stderr.splitlines()) == 1


def test_a_decimal_comma_is_asked_back(run: Command) -> None:
    said = run("tune", "--rate", "20,5Mbit/s", "--rtt", "300ms").stderr
    assert 'did you mean "20.5 Mbit/s"?' in said


def test_a_proof_with_a_server_that_is_no_host_is_refused_before_anything_is_set(run: Command) -> None:
    said = run("tune", *PATH, "--apply", "--to", "192.0.2.1:99999")
    assert said.status == 2
    assert said.stderr.startswith('bentpipe: --to: found "192.0.2.1:99999"; expected SERVER or SERVER:PORT')
