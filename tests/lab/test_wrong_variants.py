"""Wrong variants."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from bentpipe.errors import LabError
from bentpipe.lab.load import Lab

from .conftest import WORK
from .wrong import WriteLab, Wrong, assert_told

WRONG: Mapping[str, Wrong] = {
    "a variant without changes": (
        WORK + '[[variant]]\nname = "a"\n',
        ":5",
        "variant.0.set",
        "none",
        "a name and its changes",
    ),
    "a variant without a name": (
        WORK + '[[variant]]\nset = { "host.sack" = false }\n',
        ":5",
        "variant.0.name",
        "none",
        "a name",
    ),
    "a variant given twice": (
        WORK + '[[variant]]\nname = "a"\nset = { "host.sack" = false }\n' * 2,
        ":9",
        "variant.1.name",
        'a second variant "a"',
        "another name",
    ),
    "a variant called as the plain lab": (
        WORK + '[[variant]]\nname = "as is"\nset = { "host.sack" = false }\n',
        ":6",
        "variant.0.name",
        '"as is"',
        "plain lab",
    ),
    "a variant over a key that is not there": (
        WORK + '[[variant]]\nname = "a"\nset = { "host.sck" = false }\n',
        ":7",
        "host.sck",
        "unknown",
        '"host.sack"?',
    ),
    "a variant over a swept key": (
        WORK + '[sweep]\n"path.rtt" = ["1 ms"]\n[[variant]]\nname = "a"\nset = { "path.rtt" = "2 ms" }\n',
        ":9",
        "path.rtt",
        "and [sweep] change",
        "not swept",
    ),
    "a variant with a wrong value": (
        WORK + '[[variant]]\nname = "a"\n[variant.set]\n"host.sack" = 3\n',
        ":8",
        "host.sack",
        "3",
        "true or false",
    ),
    "an unknown key of a variant": (
        WORK + '[[variant]]\nname = "a"\nsets = { "host.sack" = false }\n',
        ":7",
        "variant.0.sets",
        "unknown",
        '"set"?',
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_variant_is_told_where_what_and_what_would_do(name: str, lab_file: WriteLab) -> None:
    assert_told(WRONG[name], lab_file)


def test_a_variant_that_is_not_there_is_told_the_ones_that_are(lab_file: WriteLab) -> None:
    file = lab_file(WORK + '[[variant]]\nname = "no sack"\nset = { "host.sack" = false }\n')
    with pytest.raises(LabError, match=r'did you mean "no sack".*as is, no sack'):
        Lab.load(file, variants=["no-sack"])


def test_variants_whose_names_have_commas_are_told_in_quotes(lab_file: WriteLab) -> None:
    variants = [
        f'[[variant]]\nname = "{name}"\nset = {{ "host.sack" = false }}\n'
        for name in ("320 KiB, 8 streams", "no sack")
    ]
    with pytest.raises(LabError, match=r'variants of this lab: as is, "320 KiB, 8 streams", no sack$'):
        Lab.load(lab_file(WORK + "".join(variants)), variants=["cubic"])
