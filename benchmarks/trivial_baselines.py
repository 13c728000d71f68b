"""Scores of trivial baselines, to stand beside those of trained taggers; docs/results.md has the figures.

    python benchmarks/trivial_baselines.py qe --data FOLDER                    MLQE-PE
    python benchmarks/trivial_baselines.py pos --data FOLDER                   a treebank of UD
    python benchmarks/trivial_baselines.py ner --data FOLDER --language esp    CoNLL-2002 or CoNLL-2003

The files are those of `results.py`.

The baselines:

most frequent tag   each word gets the tag that it has most often in the training data; a word that is not there
                    gets the tag that is most frequent of all. Of equally frequent tags, the first by name.
all BAD, all OK     (qe) every word gets this tag.
random              (qe) BAD at random, as often as in the training data: the scores of the expected counts.

Prints a table in Markdown, in percent. The scorers are those of `allennlp score-tags`.
"""

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy
from result_tasks import TASKS
from results import add_data_options, find_files

from allennlp_nef.data.formats.tag_files import read_conllu_tags, read_tag_column
from allennlp_nef.data.formats.wmt_word_qe import read_examples
from allennlp_nef.metrics import tag_scores

SCORES = {name: task.scores for name, task in TASKS.items()}
SCORES["qe"] = [*SCORES["qe"], ("f1_bad", "F1-BAD"), ("f1_ok", "F1-OK")]
Scores = dict[str, dict[str, float]]
"""For dev and test, each score in percent."""


class Sentence(NamedTuple):
    """A sentence with its gold tags."""

    words: list[str]
    tags: list[str]


def read_sentences(task: str, path: str, encoding: str = "utf-8") -> list[Sentence]:
    """The sentences of a file, for `qe` of the files with a prefix. Raises `DataFormatError`."""
    if task == "qe":
        return [Sentence(each.target, each.tags or []) for each in read_examples(path)]
    file = read_conllu_tags(path) if task == "pos" else read_tag_column(path, encoding=encoding)
    return [Sentence(each.words or [], each.tags) for each in file.sentences]


def most_frequent_tags(training: list[Sentence]) -> Callable[[str], str]:
    """A function from a word to its most frequent tag."""
    counts: dict[str, Counter] = defaultdict(Counter)
    overall: Counter = Counter()
    for sentence in training:
        overall.update(sentence.tags)
        for word, tag in zip(*sentence):
            counts[word][tag] += 1
    default = _first(overall)
    tag_of = {word: _first(tags) for word, tags in counts.items()}
    return lambda word: tag_of.get(word, default)


def _first(counts: Counter) -> str:
    return min(counts, key=lambda tag: (-counts[tag], tag))


def scores_of(
    scorer: tag_scores.Scorer, sentences: list[Sentence], tag_of: Callable[[str], str]
) -> dict[str, numpy.ndarray]:
    """The scores where each word gets the tag `tag_of(word)`."""
    gold = [sentence.tags for sentence in sentences]
    predicted = [[tag_of(word) for word in sentence.words] for sentence in sentences]
    return scorer.scores(scorer.count(gold, predicted).sentences.sum(0))


def random_scores(sentences: list[Sentence], rate: float) -> dict[str, numpy.ndarray]:
    """The scores of the expected counts where each word is tagged BAD with the probability `rate`."""
    tags = Counter(tag for sentence in sentences for tag in sentence.tags)
    counts = [tags[gold] * share for gold in ("BAD", "OK") for share in (rate, 1 - rate)]
    return tag_scores.WORD_QE.scores(numpy.array(counts))


def baselines(task: str, files: dict[str, str], encoding: str = "utf-8") -> dict[str, Scores]:
    """The scores of each baseline."""
    scorer = getattr(tag_scores, TASKS[task].scorer)
    training = read_sentences(task, files["train"], encoding)
    taggers = {"most frequent tag": most_frequent_tags(training)}
    if task == "qe":
        taggers.update({"all BAD": lambda word: "BAD", "all OK": lambda word: "OK"})
    held_out = {part: read_sentences(task, files[part], encoding) for part in ("dev", "test")}
    rows = {
        name: {part: scores_of(scorer, held_out[part], tag_of) for part in held_out}
        for name, tag_of in taggers.items()
    }
    if task == "qe":
        tags = [tag for sentence in training for tag in sentence.tags]
        rate = tags.count("BAD") / len(tags)
        rows["random"] = {part: random_scores(held_out[part], rate) for part in held_out}
    return {
        name: {
            part: {score: round(100 * float(scores[score]), 4) + 0.0 for score, _ in SCORES[task]}
            for part, scores in row.items()
        }
        for name, row in rows.items()
    }


def as_table(task: str, rows: dict[str, Scores]) -> str:
    """The scores in Markdown."""
    columns = [(part, *score) for score in SCORES[task] for part in ("dev", "test")]
    lines = [["baseline", *(f"{part} {title}" for part, _, title in columns)]]
    lines.append(["---"] * len(lines[0]))
    for name, scores in rows.items():
        lines.append([name, *(f"{scores[part][score]:.2f}" for part, score, _ in columns)])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("task", choices=["qe", "pos", "ner"])
    add_data_options(parser)
    parser.add_argument(
        "--encoding", default="utf-8", help="of the files of named entities (utf-8)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the scores there, too")
    args = parser.parse_args()
    if args.encoding != "utf-8" and args.task != "ner":
        parser.error(f"--encoding: expected the task ner, got {args.task}")
    rows = baselines(args.task, find_files(parser, TASKS[args.task], args), args.encoding)
    if args.json:
        args.json.write_text(json.dumps(rows, indent=2) + "\n")
    print(as_table(args.task, rows))


if __name__ == "__main__":
    main()
