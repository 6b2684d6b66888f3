"""How good a voice call is, by the E-model (ITU-T G.107, 06/2015), with the default values of its Table 2.

R = Ro - Is - Id - Ie,eff + A

1. Ro - Is is 93.2, its value with all defaults (G.107, clause 7.7). A is 0 (clause 7.6).
2. Id is Idd of the one-way delay alone (G.107, equations 7-27 and 7-28): without echo, Idte and Idle are 0.
3. Ie,eff is that of lost packets at random, BurstR = 1 (G.107, equation 7-29), with Ie and Bpl of G.711 from
   G.113 (11/2007), Appendix I: 0 and 25.1 with packet loss concealment, 0 and 4.3 without.
4. The mean opinion score is the polynomial of G.107, Annex B. For R below 6.5 it would fall below 1 and rise
   again; there it is 1.
"""

import math

BASE_R = 93.2
_IE = 0.0
_BPL_CONCEALED = 25.1
_BPL_PLAIN = 4.3
_LEAST_DELAY_MS = 100.0
"""Shorter delays do not impair."""


def delay_impairment(one_way_ms: float) -> float:
    """Idd of the delay from mouth to ear, in milliseconds."""
    if one_way_ms <= _LEAST_DELAY_MS:
        return 0.0
    x = math.log2(one_way_ms / _LEAST_DELAY_MS)
    whole, third = math.pow(1.0 + x**6, 1 / 6), math.pow(1.0 + (x / 3.0) ** 6, 1 / 6)
    return 25.0 * (whole - 3.0 * third + 2.0)


def loss_impairment(loss: float, *, concealed: bool = True) -> float:
    """Ie,eff of a share of packets that are lost or come too late, 0 to 1."""
    percent = 100.0 * loss
    bpl = _BPL_CONCEALED if concealed else _BPL_PLAIN
    return _IE + (95.0 - _IE) * percent / (percent + bpl)


def rating(one_way_ms: float, loss: float, *, concealed: bool = True) -> float:
    """R, from 0 to 100. `loss` is a share, 0 to 1."""
    r = BASE_R - delay_impairment(one_way_ms) - loss_impairment(loss, concealed=concealed)
    return min(max(r, 0.0), 100.0)


def mean_opinion_score(r: float) -> float:
    """From 1 to 4.5."""
    if r >= 100.0:
        return 4.5
    return max(1.0, 1.0 + 0.035 * r + r * (r - 60.0) * (100.0 - r) * 7e-6)
