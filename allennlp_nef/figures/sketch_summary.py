"""Statistics about what the steps of a tagger attend to, over a labeled corpus."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy

ENDS = (*range(1, 11), 20, 50)
"""The last step of each row of a table. One more row has all later steps."""
NAMES = (*map(str, range(1, 11)), "11-20", "21-50", "51+")


class SketchSummary:
    """Statistics over the sentences of a labeled corpus. `results` returns them."""

    def __init__(self) -> None:
        self._sentences = self._num_rows = 0
        # By gold tag: words, sentences whose first step attends most to such a word, attention of the first step.
        self._first: dict[str, numpy.ndarray] = defaultdict(lambda: numpy.zeros(3))
        # By row: words that settle, correct ones among them, correct ones among all words after the row.
        self._settling = numpy.zeros((3, len(NAMES)))
        # By row: wrong words, attention to them, correct words, attention to them, steps, share of wrong words.
        self._attention = numpy.zeros((6, len(NAMES)))

    def add(self, answer: Mapping[str, Any]) -> None:
        """Counts a sentence: the answer of a predictor with its `trace` and with `gold`, the gold tags."""
        trace, gold = answer["trace"], numpy.array(answer["gold"], dtype=object)
        attention = numpy.array(trace["attention"])  # (steps, words)
        is_correct = numpy.array(trace["provisional_tags"], dtype=object) == gold  # (steps, words)
        num_steps = len(attention)
        self._sentences += 1
        self._num_rows = max(self._num_rows, int(_rows(num_steps)) + 1)
        for i, tag in enumerate(gold):
            self._first[tag] += (1, i == attention[0].argmax(), attention[0, i])

        rows = _rows(trace["settled_at"])
        # A sentence with fewer steps keeps its last tags.
        last = numpy.minimum([*ENDS, num_steps], num_steps) - 1
        self._settling += [
            numpy.bincount(rows, minlength=len(NAMES)),
            numpy.bincount(rows, is_correct[-1], minlength=len(NAMES)),
            is_correct[last].sum(1),
        ]

        # From the second step on: attention by whether the tag was wrong after the step before.
        attention, wrong, right = attention[1:], ~is_correct[:-1], is_correct[:-1]
        sums = [x.sum(1) for x in (wrong, attention * wrong, right, attention * right)]
        sums += [numpy.ones(num_steps - 1), wrong.mean(1)]
        rows = _rows(numpy.arange(2, num_steps + 1))
        numpy.add.at(self._attention.T, rows, numpy.stack(sums, 1))

    def results(self) -> dict[str, Any]:
        """Returns the numbers as a JSON object. Shares and accuracies are fractions of 1, or None where there is
        nothing to count.

        - `first_step` has a row for each gold tag: its words, the sentences whose largest attention in step 1 is on
          such a word, and the share of such words in the attention of step 1. (Martins & Kreutzer, EMNLP 2017: 57% of
          English test sentences attend to a verb first.)
        - `settling` has a row for each step or range of steps: the words whose tag changed last there, their final
          accuracy, and the accuracy of all words after this step. A tag that never changes settles in step 1.
        - `attention_on_wrong` has a row for each step from the second on, and one for all: the words whose tag was
          wrong (or right) after the previous step, the mean attention to one such word, the share of the attention on
          wrong words, and that share if attention were uniform.
        """
        tags = sorted(self._first, key=lambda tag: (*-self._first[tag][[1, 0]], tag))
        words, sentences, attention = numpy.reshape([self._first[tag] for tag in tags], (-1, 3)).T
        settled, settled_right, right_after = self._settling[:, : self._num_rows]
        wrong, on_wrong, right, on_right, steps, even = (
            numpy.append(row[1 : self._num_rows], row.sum()) for row in self._attention
        )
        return {
            "sentences": self._sentences,
            "words": int(words.sum()),
            "accuracy": _shares(self._settling[2, -1:], words.sum())[0],
            "first_step": _table(
                tag=tags,
                words=words.astype(int).tolist(),
                word_share=_shares(words, words.sum()),
                sentences=sentences.astype(int).tolist(),
                sentence_share=_shares(sentences, sentences.sum()),
                attention_share=_shares(attention, attention.sum()),
            ),
            "settling": _table(
                step=NAMES[: self._num_rows],
                words=settled.astype(int).tolist(),
                word_share=_shares(settled, words.sum()),
                accuracy=_shares(settled_right, settled),
                accuracy_after=_shares(right_after, words.sum()),
            ),
            "attention_on_wrong": _table(
                step=[*NAMES[1 : self._num_rows], "all"],
                wrong=wrong.astype(int).tolist(),
                right=right.astype(int).tolist(),
                attention_wrong=_shares(on_wrong, wrong),
                attention_right=_shares(on_right, right),
                share_on_wrong=_shares(on_wrong, on_wrong + on_right),
                even_share=_shares(even, steps),
            ),
        }


def _rows(steps: Any) -> numpy.ndarray:
    """Returns the row of each step, from 1."""
    return numpy.searchsorted(ENDS, steps)


def _shares(parts: numpy.ndarray, whole: Any) -> list[float | None]:
    whole = numpy.broadcast_to(whole, parts.shape)
    return [float(part / total) if total else None for part, total in zip(parts, whole)]


def _table(**columns: Sequence[Any]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row)) for row in zip(*columns.values())]
