"""`loss` and `ingress_loss`: which packets a pipe loses by chance."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Tag

from bentpipe.lab.models.base import Probability, Table, doc, tag


class BernoulliLoss(Table):
    """Each packet alone."""

    model: Annotated[Literal["bernoulli"], doc("each packet is lost with the same probability")] = "bernoulli"
    p: Annotated[Probability, doc("probability that a packet is lost")]


class GilbertElliottLoss(Table):
    """Two states, good and bad (Gilbert 1960, Elliott 1963): losses in bursts."""

    model: Annotated[Literal["gilbert-elliott"], doc("losses in bursts")]
    p: Annotated[Probability, doc("probability of going from good to bad, per packet")]
    r: Annotated[
        Probability, doc("probability of going from bad to good, per packet; mean burst 1/r packets")
    ]
    good: Annotated[Probability, doc("loss in the good state", "Gilbert's original")] = 0.0
    bad: Annotated[
        Probability, doc("loss in the bad state", "the usual simplification: in a fade nothing passes")
    ] = 1.0


class TraceLoss(Table):
    """The n-th packet is lost where the file says so."""

    model: Annotated[Literal["trace"], doc("as recorded")]
    file: Annotated[
        str, doc("file of 0 (arrives) and 1 (lost), one per packet, relative to the lab file; it repeats")
    ]


LOSS_MODELS = ("bernoulli", "gilbert-elliott", "trace")


def _loss_branch(value: object) -> str | None:
    if not isinstance(value, dict):
        return tag("plain")
    model = value.get("model", "bernoulli")
    return tag(model) if model in LOSS_MODELS else None


AnyLoss = Annotated[
    Annotated[Probability, Tag(tag("plain"))]
    | Annotated[BernoulliLoss, Tag(tag("bernoulli"))]
    | Annotated[GilbertElliottLoss, Tag(tag("gilbert-elliott"))]
    | Annotated[TraceLoss, Tag(tag("trace"))],
    Discriminator(_loss_branch, custom_error_type="choice", custom_error_message="model"),
]
