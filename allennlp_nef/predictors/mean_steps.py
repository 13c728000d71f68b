from collections.abc import Sequence


def mean_steps(attention: Sequence[Sequence[float]]) -> list[float]:
    """When each word is attended to: sum_n n alpha_(n,i) / sum_n alpha_(n,i), of the steps n = 1 to N.

    A word that is never attended to comes after the last step: N + 1.

    # Parameters

    attention : `Sequence[Sequence[float]]`
        alpha: steps x words, at least one step.
    """
    totals = [sum(column) for column in zip(*attention)]
    weighted = [sum(n * value for n, value in enumerate(c, 1)) for c in zip(*attention)]
    late = len(attention) + 1.0
    return [value / total if total else late for value, total in zip(weighted, totals)]
