"""Measures which errors an estimator sees in correct translations that were damaged in one place.

    python recipes/critical_errors.py ARCHIVE --demetr FOLDER
    python recipes/critical_errors.py ARCHIVE --pairs en-fr.errors.jsonl en-ja.errors.jsonl

FOLDER has translations.jsonl and damaged.jsonl of DEMETR (Karpinska et al., EMNLP 2022). The other files are those of
`synthetic_errors.py`. Prints a table with these columns, for each kind of damage:

    worse            the damaged translation has the higher risk: the probability of a critical error, or the predicted
                     HTER of a model that does not predict it; chance is 50%
    high             its risk is above that of 95% of the intact translations
    marked           a changed word is BAD; for an omission, the next word or `<EOS>`
    before           the same words are BAD in the intact translation
    worse, checks    the risk is higher, or the checks of the answer find more
    marked, checks   a changed word is BAD, or the checks of the answer find more

The threshold of BAD is the one at which `--intact-share` of the intact translations have a mark, or `--threshold`.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import numpy

from allennlp_nef import load
from allennlp_nef.qe.answers import risk_of
from allennlp_nef.qe.predictor import WordQePredictor


class Damage(NamedTuple):
    """An intact and a damaged translation of a source, each raw text or a list of words."""

    kind: str
    source: Any
    intact: Any
    damaged: Any


def demetr(folder: Path, limit: int) -> Iterator[Damage]:
    """The damages of DEMETR, at most `limit` of a kind, from languages in turn."""
    rows = map(json.loads, (folder / "translations.jsonl").open(encoding="utf-8"))
    intact = {row["id"]: row for row in rows}
    by_kind = defaultdict(list)
    for line in (folder / "damaged.jsonl").open(encoding="utf-8"):
        row = json.loads(line)
        by_kind[row["kind"]].append(row)
    for kind, damaged in by_kind.items():
        step = max(1, len(damaged) // limit)
        for row in damaged[::step][:limit]:
            translation = intact[row["id"]]
            yield Damage(kind, translation["source"], translation["target"], row["target"])


def generated(paths: Iterable[Path]) -> Iterator[Damage]:
    """The damages of files of `synthetic_errors.py`: those with one error, whose intact form is in the file, too."""
    for path in paths:
        rows = [json.loads(line) for line in path.open(encoding="utf-8")]
        intact = {tuple(row["source"]): row["target"] for row in rows if row["kinds"] == ["intact"]}
        for row in rows:
            target = intact.get(tuple(row["source"]))
            if target is not None and len(row["kinds"]) == 1 and row["kinds"] != ["intact"]:
                yield Damage(row["kinds"][0], row["source"], target, row["target"])


def answers(predictor: WordQePredictor, pairs: Sequence[tuple[Any, Any]]) -> list[dict[str, Any]]:
    """The answers to pairs of a source and a translation."""
    requests = [{"source": source, "target": target} for source, target in pairs]
    return list(predictor.stream((str(number), each) for number, each in enumerate(requests)))


def changes(intact: Sequence[str], damaged: Sequence[str]) -> tuple[list[int], list[int]]:
    """The indices of the changed words in both translations, or of the word after a gap."""
    places: tuple[list[int], list[int]] = ([], [])
    opcodes = SequenceMatcher(None, intact, damaged, autojunk=False).get_opcodes()
    for name, *spans in opcodes:
        if name != "equal":
            for side, (start, end) in zip(places, (spans[:2], spans[2:])):
                side += range(start, max(end, start + 1))
    return places


def is_marked(answer: dict[str, Any], places: Iterable[int], threshold: float) -> bool:
    """Whether one of the words is BAD."""
    bad = answer["bad_probabilities"]
    return any(bad[min(place, len(bad) - 1)] >= threshold for place in places)


def columns_of(
    before: dict[str, Any], after: dict[str, Any], threshold: float, high: float
) -> tuple[float, ...]:
    """The columns of the table for the answers to an intact and a damaged translation."""
    places = changes(before["tokens"], after["tokens"])
    difference = risk_of(after) - risk_of(before)
    worse = 0.5 if difference == 0 else float(difference > 0)
    marked = is_marked(after, places[1], threshold)
    is_found = len(after["checks"]) > len(before["checks"])
    row = worse, risk_of(after) > high, marked, is_marked(before, places[0], threshold)
    return (*row, max(worse, is_found), marked or is_found)


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("archive")
    add("--demetr", type=Path, metavar="FOLDER")
    add("--pairs", type=Path, nargs="*", default=[], metavar="FILE")
    add("--limit", type=int, default=100, help="number of damages of a kind (default: 100)")
    add("--intact-share", type=float, default=1 / 3, help="default: a third")
    add("--threshold", type=float)
    args = parser.parse_args()
    damages = list(generated(args.pairs))
    if args.demetr:
        damages += demetr(args.demetr, args.limit)
    if not damages:
        parser.error("expected damaged translations in --demetr or --pairs, got none")
    predictor: Any = load(args.archive)
    pairs = {
        (json.dumps(d.source), json.dumps(text)): (d.source, text)
        for d in damages
        for text in d[2:]
    }
    found = dict(zip(pairs, answers(predictor, [*pairs.values()])))
    rows = [
        (d.kind, *(found[json.dumps(d.source), json.dumps(text)] for text in d[2:]))
        for d in damages
    ]
    intact = {id(before): before for _, before, _ in rows}.values()
    highest = sorted(max(answer["bad_probabilities"]) for answer in intact)
    threshold = args.threshold
    if threshold is None:
        threshold = float(numpy.nextafter(highest[int(len(highest) * (1 - args.intact_share))], 2))
    marked = mean(max(answer["bad_probabilities"]) >= threshold for answer in intact)
    words = mean(p >= threshold for answer in intact for p in answer["bad_probabilities"])
    print(
        f"threshold {threshold:.4f}: {marked:.0%} of {len(intact)} intact have a mark, {words:.1%} of their words"
    )
    high = float(numpy.quantile([*map(risk_of, intact)], 0.95))
    print("| damage | number | worse | high | marked | before | worse, checks | marked, checks |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    table = defaultdict(list)
    for kind, before, after in rows:
        table[kind].append(columns_of(before, after, threshold, high))
    critical = [kind for kind in table if kind.startswith("critical")]
    for kind, values in sorted(table.items()):
        print(
            f"| {kind} | {len(values)} | "
            + " | ".join(f"{mean(c):.0%}" for c in zip(*values))
            + " |"
        )
    for name, kinds in (("mean of all", [*table]), ("mean of critical", critical)):
        if kinds:
            means = zip(*([mean(column) for column in zip(*table[kind])] for kind in kinds))
            print(f"| {name} | | " + " | ".join(f"{mean(column):.0%}" for column in means) + " |")


if __name__ == "__main__":
    main()
