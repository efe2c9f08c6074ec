# ===- pairs.py - Two programs in turns, beside two identical ones -----------=== #
# SPDX-License-Identifier: Apache-2.0
"""How long one thing takes before and now, and what identical programs differ by.

Where a program lies in memory changes its time by some percent, and so do neighbours. The
program before therefore runs from two files of the same bytes: `before` and `copy`. A
ratio of now to before means something only where it exceeds what those two show.
"""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median, quantiles

WITHIN = "within the spread of two identical programs"
FASTER = "faster than that spread"
SLOWER = "slower than that spread"


def in_turns(turns: dict[str, Callable], rounds: int) -> dict[str, list]:
    """What each returns, round by round. Every round begins with another one."""
    names = list(turns)
    results = {name: [] for name in names}
    for number in range(rounds):
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            results[name].append(turns[name]())
    return results


def deviation(ratio: float) -> float:
    """The same for twice and half as long: which of two comes first has no meaning."""
    return max(ratio, 1 / ratio)


@dataclass(frozen=True)
class Timing:
    """Milliseconds, one of each in every round."""

    before: list[float]
    now: list[float]
    copy: list[float]

    @property
    def ratio(self) -> float:
        return median(self.now) / median(self.before)

    @property
    def round_ratios(self) -> tuple[float, float]:
        """The ratios of single rounds: the tenth below and the tenth above are left out."""
        tenths = quantiles(self.ratios(self.now), n=10, method="inclusive")
        return tenths[0], tenths[-1]

    @property
    def identical_ratio(self) -> float:
        return median(self.copy) / median(self.before)

    @property
    def identical_spread(self) -> float:
        """Nine of ten rounds show identical programs within 1 / this and this."""
        deviations = [deviation(ratio) for ratio in self.ratios(self.copy)]
        return quantiles(deviations, n=10, method="inclusive")[-1]

    @property
    def verdict(self) -> str:
        if deviation(self.ratio) <= self.identical_spread:
            return WITHIN
        return FASTER if self.ratio < 1 else SLOWER

    def ratios(self, others: list[float]) -> list[float]:
        return [other / before for other, before in zip(others, self.before, strict=True)]

    def record(self) -> dict:
        return {
            "before_ms": median(self.before),
            "now_ms": median(self.now),
            "ratio": self.ratio,
            "round_ratios": self.round_ratios,
            "identical_ratio": self.identical_ratio,
            "identical_spread": self.identical_spread,
            "verdict": self.verdict,
            "rounds_ms": {"before": self.before, "now": self.now, "copy": self.copy},
        }
