"""`loss` and `ingress_loss`: which packets a pipe loses by chance."""

from typing import Annotated, Literal

from pydantic import Discriminator, Tag

from bentpipe.lab.models.base import Probability, Table, doc, tag


class BernoulliLoss(Table):
    """Each packet is lost with the same probability."""

    model: Annotated[Literal["bernoulli"], doc("independent losses")] = "bernoulli"
    p: Annotated[Probability, doc("probability that a packet is lost")]


class GilbertElliottLoss(Table):
    """Losses in bursts: the channel is in a good or a bad state (Gilbert 1960, Elliott 1963)."""

    model: Annotated[Literal["gilbert-elliott"], doc("losses in bursts")]
    p: Annotated[Probability, doc("probability per packet of a change from good to bad")]
    r: Annotated[
        Probability,
        doc("probability per packet of a change from bad to good; a bad state lasts 1/r packets on average"),
    ]
    good: Annotated[Probability, doc("probability of loss in the good state", "as in Gilbert's model")] = 0.0
    bad: Annotated[Probability, doc("probability of loss in the bad state", "in a fade nothing passes")] = 1.0


class TraceLoss(Table):
    """Recorded losses: a file says for each packet whether it is lost."""

    model: Annotated[Literal["trace"], doc("recorded losses")]
    file: Annotated[
        str, doc("file of 0 (arrives) and 1 (lost), relative to the lab file ([trace files](#trace-files))")
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
