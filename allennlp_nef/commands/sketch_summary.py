"""Counts over a corpus: where the first step looks, when tags settle, and the attention on words with wrong tags."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy

from allennlp_nef.commands.tables import percent, table_text
from allennlp_nef.text import printable

ENDS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 50)
"""The last step of each row of a summary; one more row has all later steps."""
NAMES = [*map(str, ENDS[:10]), "11-20", "21-50", "51+"]


class SketchSummary:
    """Counts over the sentences that are added. `results` gives the numbers.

    # Parameters

    title : `str`
        The title of the model.
    archive : `str`
        The path of its archive.
    """

    def __init__(self, title: str, archive: str) -> None:
        self._title, self._archive = title, archive
        self._sentences = self._labeled = self._max_steps = 0
        # For each kind of tag and each tag: words, sentences that look there first, attention of the first step.
        self._first: dict[str, dict[str, Any]] = {
            kind: defaultdict(lambda: numpy.zeros(3)) for kind in ("gold", "predicted")
        }
        # For each row: words that settle there, how many of them are right, words that are right after its last step.
        self._settling = numpy.zeros((len(NAMES), 3))
        # For each row: wrong words, attention on them, right words, attention on them, steps, and the sum over the
        # steps of the share of wrong words.
        self._attention = numpy.zeros((len(NAMES), 6))

    def add(self, answer: Mapping[str, Any]) -> None:
        """Counts a sentence: the answer of a predictor with `trace`, and with `gold`: the gold tags or None."""
        trace, gold = answer["trace"], answer["gold"]
        attention = numpy.array(trace["attention"])  # (steps, words)
        self._sentences += 1
        self._labeled += gold is not None
        self._max_steps = max(self._max_steps, len(attention))
        first = attention[0].argmax()
        for kind, tags in (("gold", gold), ("predicted", answer["tags"])):
            for i, tag in enumerate(tags or ()):
                self._first[kind][tag] += (1, i == first, attention[0, i])

        rows = _rows(trace["settled_at"])
        settled = [numpy.bincount(rows, minlength=len(NAMES))]
        if gold is not None:
            tags = numpy.array(trace["provisional_tags"], dtype=object)
            is_right = tags == numpy.array(gold, dtype=object)  # (steps, words)
            settled.append(numpy.bincount(rows, is_right[-1], minlength=len(NAMES)))
            # A sentence with fewer steps keeps its last tags.
            last = numpy.minimum([*ENDS, len(tags)], len(tags)) - 1
            settled.append(is_right[last].sum(1))
            self._add_attention(attention[1:], ~is_right[:-1])
        self._settling[:, : len(settled)] += numpy.stack(settled, 1)

    def _add_attention(self, attention: numpy.ndarray, is_wrong: numpy.ndarray) -> None:
        """Counts the attention of steps, and whether the tags were wrong before them; both are (steps, words)."""
        columns = (
            *(is_wrong.sum(1), (attention * is_wrong).sum(1)),
            *((~is_wrong).sum(1), (attention * ~is_wrong).sum(1)),
            *(numpy.ones(len(attention)), is_wrong.mean(1)),
        )
        # The first of these steps is the second one of the sentence.
        numpy.add.at(
            self._attention, _rows(numpy.arange(len(attention)) + 2), numpy.stack(columns, 1)
        )

    def results(self) -> dict[str, Any]:
        """
        The numbers as a JSON object. Shares and accuracies are fractions of 1, or None where they are of nothing.

        `has_gold` tells whether all sentences have gold tags. If not, there are no accuracies, and
        `attention_on_wrong` is None.

        - `first_step` has a row for each tag (the gold tag, or the predicted one where there are no gold tags), the
          most frequent first. `words` and `word_share` count the words with this tag. `sentences` and `sentence_share`
          count the sentences whose largest attention at step 1 is on such a word. `attention_share` is the share of
          such words in all attention at step 1. (Martins & Kreutzer, EMNLP 2017: 57% of English test sentences look at
          a verb.)
        - `settling` has a row for each step or range of steps. `words` and `word_share` count the words whose tag
          changed last at this step; a tag that never changes counts for step 1. `accuracy` is that of these words.
          `accuracy_after` is that of all words after this step, or after the last step of the range; a sentence with
          fewer steps keeps its last tags.
        - `attention_on_wrong` has a row for each step from the second one, and a row for all of them. `wrong` and
          `right` count the words whose tag was wrong or right after the step before. `attention_wrong` and
          `attention_right` are the mean attention that these words get at this step. `share_on_wrong` is the share of
          attention that goes to wrong words, and `even_share` what it would be if all words of a sentence got the same.
        """
        has_gold = self._labeled == self._sentences
        words, right, after = self._settling.T
        total = words.sum()
        return {
            "title": self._title,
            "archive": self._archive,
            "sentences": self._sentences,
            "words": int(total),
            "has_gold": has_gold,
            "accuracy": _ratio(after[-1], total) if has_gold else None,
            "first_step": self._first_step("gold" if has_gold else "predicted"),
            "settling": [
                {
                    "step": NAMES[row],
                    "words": int(words[row]),
                    "word_share": _ratio(words[row], total),
                    "accuracy": _ratio(right[row], words[row]) if has_gold else None,
                    "accuracy_after": _ratio(after[row], total) if has_gold else None,
                }
                for row in range(self._num_rows())
            ],
            "attention_on_wrong": self._attention_on_wrong() if has_gold else None,
        }

    def _num_rows(self) -> int:
        return int(_rows([self._max_steps])[0]) + 1

    def _first_step(self, kind: str) -> list[dict[str, Any]]:
        counts = self._first[kind]
        words, sentences, attention = sum(counts.values(), numpy.zeros(3))
        ordered = sorted(counts, key=lambda tag: (*-counts[tag][[1, 0]], tag))
        return [
            {
                "tag": tag,
                "words": int(counts[tag][0]),
                "word_share": _ratio(counts[tag][0], words),
                "sentences": int(counts[tag][1]),
                "sentence_share": _ratio(counts[tag][1], sentences),
                "attention_share": _ratio(counts[tag][2], attention),
            }
            for tag in ordered
        ]

    def _attention_on_wrong(self) -> list[dict[str, Any]]:
        used = self._attention[1 : self._num_rows()]
        names = [*NAMES[1 : self._num_rows()], "all"]
        return [
            {
                "step": name,
                "wrong": int(wrong),
                "right": int(right),
                "attention_wrong": _ratio(on_wrong, wrong),
                "attention_right": _ratio(on_right, right),
                "share_on_wrong": _ratio(on_wrong, on_wrong + on_right),
                "even_share": _ratio(even, steps),
            }
            for name, (wrong, on_wrong, right, on_right, steps, even) in zip(
                names, [*used, used.sum(0)]
            )
        ]


def as_text(results: Mapping[str, Any]) -> str:
    """The tables of `SketchSummary.results`, with percentages for shares and accuracies."""
    has_gold = results["has_gold"]
    counts = f"{results['sentences']} sentences, {results['words']} words"
    if has_gold:
        counts += f", accuracy {percent(results['accuracy'])}%"
    parts = [
        f"{results['title']}: {results['archive']}\n{counts}",
        f"The first step, by the {'gold' if has_gold else 'predicted'} tag: words; sentences whose largest attention "
        "is on such a word; attention.\n" + table_text(_FIRST_STEP, results["first_step"]),
    ]
    settling = "Settling: words by the first step after which their tag no longer changes"
    if has_gold:
        parts += [
            f"{settling}; their accuracy, and\nthat of all words after this step (sentences with fewer steps keep "
            "their last tags).\n" + table_text(_SETTLING, results["settling"]),
            "Attention on wrong words: words, once for each step of their sentence, whose tag was wrong, or right,\n"
            "after the step before; the mean attention that they get; the share of attention that goes to the wrong\n"
            "ones, and what it would be if all words of a sentence got the same.\n"
            + table_text(_ATTENTION, results["attention_on_wrong"]),
        ]
    else:
        parts += [
            f"{settling}.\n" + table_text(_SETTLING[:3], results["settling"]),
            "Not all sentences have gold tags: no accuracies, and nothing on wrong words.",
        ]
    return "\n\n".join(parts)


def _decimals(attention: float | None) -> str:
    return "-" if attention is None else f"{attention:.4f}"


# Head of the column, name in the results, and the function that formats a value.
_FIRST_STEP = (
    ("tag", "tag", printable),
    ("words", "words", str),
    ("%", "word_share", percent),
    ("sentences", "sentences", str),
    ("%", "sentence_share", percent),
    ("attention %", "attention_share", percent),
)
_SETTLING = (
    ("step", "step", str),
    ("words", "words", str),
    ("%", "word_share", percent),
    ("their accuracy %", "accuracy", percent),
    ("of all words %", "accuracy_after", percent),
)
_ATTENTION = (
    ("step", "step", str),
    ("wrong", "wrong", str),
    ("right", "right", str),
    ("on a wrong one", "attention_wrong", _decimals),
    ("on a right one", "attention_right", _decimals),
    ("on all wrong %", "share_on_wrong", percent),
    ("if even %", "even_share", percent),
)


def _rows(steps: Any) -> numpy.ndarray:
    """The row of each step. Steps count from 1."""
    return numpy.searchsorted(ENDS, steps)


def _ratio(part: float, whole: float) -> float | None:
    return float(part / whole) if whole else None
