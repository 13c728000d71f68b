"""Chooses when sentences halt."""

from typing import Any, NamedTuple

import numpy
from allennlp.common import Params

from allennlp_nef.commands.calibration.step_table import Outcome, StepTable
from allennlp_nef.errors import UserError
from allennlp_nef.modules.halting import FixedHalting, Halting

KINDS = ("fixed", "confident", "settled", "learned")
"""The haltings that can be chosen, by their registered names."""
_THRESHOLDS = 60
_MAX_UNCHANGED = 3
_MAX_STEPS = (2, 3, 4, 5, 6, 8, 10, 15, 20, 30)


class Choice(NamedTuple):
    """A halting, and what it makes of the sentences on which it was chosen."""

    options: dict[str, Any]
    """As in a config."""
    outcome: Outcome

    @property
    def halting(self) -> Halting:
        return Halting.from_params(Params(dict(self.options)))


def candidates(kind: str, table: StepTable) -> list[dict[str, Any]]:
    """The options among which `choose` chooses."""
    if kind == "fixed":
        return [{"type": kind, "max_steps": n + 1} for n in range(int(table.num_steps.max()))]
    shares = numpy.linspace(0, 1, _THRESHOLDS)
    values = table.halted if kind == "learned" else table.confidence
    found = numpy.unique(numpy.quantile(values.astype(numpy.float64), shares))
    # In the middle between two of them, so that rounding does not decide.
    thresholds = [0.0, *((found[1:] + found[:-1]) / 2).tolist(), 1.0]
    own: list[dict[str, Any]] = [{"threshold": each} for each in thresholds]
    if kind == "settled":
        own = [{"steps": n, **each} for n in range(1, _MAX_UNCHANGED + 1) for each in own]
    limits = [n for n in _MAX_STEPS if n < table.num_steps.max()]
    options = [{"type": kind, **each} for each in own]
    return options + [{**each, "max_steps": limit} for each in options for limit in limits]


def choose(kind: str, table: StepTable, tolerance: float) -> Choice:
    """The halting with the fewest mean steps whose score is at most `tolerance` lower than without one.

    Of several, that with the highest score.

    # Raises

    `UserError`: there is none.
    """
    least = table.outcome(FixedHalting()).score - tolerance
    choices = [Choice(options, Outcome(0, 0)) for options in candidates(kind, table)]
    choices = [choice._replace(outcome=table.outcome(choice.halting)) for choice in choices]
    good = [choice for choice in choices if choice.outcome.score >= least]
    if not good:
        raise UserError(
            f"--halting {kind}: expected one that costs at most {100 * tolerance:g} points, got none; set a higher "
            "--tolerance, or choose another"
        )
    return min(good, key=lambda choice: (choice.outcome.mean_steps, -choice.outcome.score))


def chosen_halting(kind: str, table: StepTable, tolerance: float) -> dict[str, Any]:
    """The options of the chosen halting, and figures, as JSON.

    `without` and `chosen` have `mean_steps` and `score`, a fraction of 1 named by `score`; `cross_fitted` is chosen on
    every other sentence and measured on the others, both ways.
    """
    choice = choose(kind, table, tolerance)
    halves = [table.part(slice(start, None, 2)) for start in (0, 1)]
    crossed = [
        half.outcome(choose(kind, other, tolerance).halting)
        for half, other in zip(halves, reversed(halves))
    ]
    return {
        "options": choice.options,
        "score": table.kind,
        "tolerance": tolerance,
        "without": table.outcome(FixedHalting())._asdict(),
        "chosen": choice.outcome._asdict(),
        "cross_fitted": {
            name: sum(getattr(each, name) for each in crossed) / len(crossed)
            for name in Outcome._fields
        },
    }
