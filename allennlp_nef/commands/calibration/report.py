"""The figures of `calibrate`, as text."""

from collections.abc import Mapping
from typing import Any

from allennlp_nef.commands.calibration.step_table import SCORES
from allennlp_nef.text import printable

_OBJECTIVES = {"mcc": "MCC", "f1_mult": "F1-MULT", "span_f1": "F1 of characters"}
# Names of figures, heads of their columns, and whether they are percentages.
_COLUMNS = (
    ("ece", "ECE %", True),
    ("span_ece", "ECE of spans %", True),
    ("brier", "Brier", False),
    ("nll", "NLL", False),
    ("mcc", "MCC %", True),
    ("f1_mult", "F1-MULT %", True),
    ("span_f1", "F1 of characters %", True),
    ("tagged_share", "tagged BAD %", True),
    ("gold_share", "gold BAD %", True),
)
_ROWS = {"before": "before", "after": "after", "cross_fitted": "cross-fitted"}


def as_text(results: Mapping[str, Any], plot: str | None) -> str:
    """The report of `calibrate`."""
    calibration, adapted = results["calibration"], results["adapted"]
    lines = [
        f"{results['archive']} on {results['data']}: {results['sentences']} sentences, {results['words']} words"
    ]
    if results["left_out_words"]:
        lines.append(
            f"{results['left_out_words']} words are left out of the fit and of NLL: the model cannot predict their tag"
        )
    lines += ["", *_table(results), ""]
    if results["halting"] is not None:
        lines += [*_halting(results["halting"]), ""]
    if adapted is not None:
        shares = adapted["base_rate"]
        lines.append(
            f"adapted to {adapted['data']}: {adapted['sentences']} sentences, {adapted['words']} words"
        )
        lines.append(f"estimated shares: {_listed(shares, lambda share: f'{100 * share:.2f}%')}")
    lines.append(f"temperature: {calibration['temperature']:.4f}")
    if calibration["biases"]:
        lines.append(f"biases: {_listed(calibration['biases'], lambda bias: f'{bias:+.4f}')}")
    if "threshold" in calibration:
        score = _OBJECTIVES[calibration["objective"]]
        kind = f"the highest {'expected ' if adapted else ''}{score}"
        lines.append(f"threshold: {calibration['threshold']:.4f}, for {kind}")
    if adapted is not None and "expected_score" in adapted:
        lines.append(
            f"expected there: {score} {100 * adapted['expected_score']:.2f}%, "
            f"{100 * adapted['tagged_share']:.2f}% of the words tagged BAD"
        )
    lines += [f"wrote {path}" for path in (results["output"], plot) if path]
    return "\n".join(lines)


def _halting(figures: Mapping[str, Any]) -> list[str]:
    """The chosen halting, and its figures."""
    options = [
        f"{name} {value:.6g}" for name, value in figures["options"].items() if name != "type"
    ]
    rows = [
        ("all steps", figures["without"]),
        ("halting", figures["chosen"]),
        ("cross-fitted", figures["cross_fitted"]),
    ]
    score = SCORES[figures["score"]]
    return [
        f"halting: {figures['options']['type']}, {', '.join(options)}",
        *(
            f"{name.ljust(12)}  {row['mean_steps']:5.2f} steps, {score} {100 * row['score']:.2f}%"
            for name, row in rows
        ),
    ]


def _table(results: Mapping[str, Any]) -> list[str]:
    columns = [column for column in _COLUMNS if column[0] in results["before"]]
    cells = [["", *(head for _, head, _ in columns)]]
    for row, name in _ROWS.items():
        figures: dict[str, float | None] = results[row]
        cells.append([name, *(_number(figures[each], share) for each, _, share in columns)])
    widths = [max(map(len, column)) for column in zip(*cells)]
    return [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
        for row in cells
    ]


def _number(value: float | None, is_share: bool) -> str:
    if value is None:
        return "-"
    return f"{100 * value:.2f}" if is_share else f"{value:.4f}"


def _listed(values: Mapping[str, float], write: Any) -> str:
    """At most 10 labels with their values; of more, the lowest and the highest 5."""
    names = list(values)
    if len(names) > 10:
        names = sorted(names, key=values.__getitem__)
        return f"{_listed({name: values[name] for name in names[:5]}, write)}, ..., " + _listed(
            {name: values[name] for name in names[-5:]}, write
        )
    return ", ".join(f"{printable(name)} {write(values[name])}" for name in names)
