"""Tags of words: quality estimation, parts of speech and named entities, and their trivial baselines."""

import argparse
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from pathlib import Path
from typing import Any

import numpy
from studies import PARTS, Counts, Files, Study, experiment

from allennlp_nef.data.formats.tag_files import read_conllu_tags, read_tag_column
from allennlp_nef.data.formats.wmt_word_qe import read_examples
from allennlp_nef.metrics import tag_scores

Sentence = tuple[Sequence[str], Sequence[str]]
"""Words and gold tags."""

ENCODERS = {
    "qe": "qe_transformer qe_nef_f_transformer",
    "pos": "pos_transformer pos_nef_f_transformer",
    "ner": "ner_transformer ner_nef_f_crf_5_transformer "
    "ner_transformer_frozen ner_nef_f_crf_5_transformer_frozen",
}


class Tagging(Study):
    """The tagger of a config."""

    kept_by_data = False

    def __init__(
        self,
        name: str,
        configs: str,
        patterns: dict[str, list[str]],
        output_format: str,
        scorer: tag_scores.Scorer,
        scores: dict[str, str],
        pairs: Iterable[tuple[str, str]],
        language: str | None = None,
        only: dict[str, str] | None = None,
    ) -> None:
        """`only` has the rows of languages with fewer rows."""
        self.name, self.configs, self.pairs = name, configs.split(), list(pairs)
        self.patterns, self.language = patterns, language
        self.output_format, self.scorer, self.scores = output_format, scorer, scores
        self.only = {key: names.split() for key, names in (only or {}).items()}
        self.encoders = ENCODERS[name].split()
        self.settings: dict[str, dict[str, Any]] = {}
        """Settings of single rows."""

    def baselines(self, num_epochs: int, lan_rate: float) -> "Tagging":
        """Label attention and self-attention beside taggers with words and characters.

        `lan_rate` is the learning rate of label attention; the others have 0.03.
        """
        names = "lan_bilstm_softmax lan_bilstm_crf lan_nef_f_crf lan_unscaled psa_bilstm_crf psa"
        study = copy(self)
        study.configs = rows = [f"{self.name}_{name}" for name in names.split()]
        study.only = {}
        softmax, crf, nef, lan, psa_crf, psa = rows
        study.pairs = [(crf, softmax), (nef, crf), *((lan, other) for other in (softmax, crf, nef))]
        study.pairs += [(psa, other) for other in (psa_crf, softmax, crf, nef, lan)]
        epochs, rate = "trainer.num_epochs", "trainer.optimizer.lr"
        study.settings = {
            row: {epochs: num_epochs, rate: lan_rate if row == lan else 0.03} for row in rows
        }
        return study

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        if self.name == "ner":
            parser.add_argument("--encoding", default="utf-8", help="of the files, for --trivial")

    def rows(self, args: argparse.Namespace) -> Sequence[str]:
        return self.only.get(args.language, self.configs)

    def params(self, args: Any, row: str, seed: int, files: Files, folder: Path) -> Any:
        overrides = {**self.settings.get(row, {}), **args.overrides}
        return experiment(row, seed, files, overrides)

    def count(self, args: Any, folder: Path, part: str, path: str) -> numpy.ndarray:
        """Also writes the predictions, which `allennlp-nef score-tags` reads."""
        from allennlp_nef.predictors.archives import load_predictor

        predictor: Any = load_predictor(
            str(folder / "model.tar.gz"), args.cuda_device, output_format=self.output_format
        )
        instances = list(predictor._dataset_reader.read(path))
        answers = predictor.predict_batch_instance(instances)
        with open(folder / f"{part}.{self.output_format}", "w", encoding="utf-8") as file:
            file.writelines(predictor.dump_line(answer) for answer in answers)
        gold = [instance["metadata"].metadata.tags for instance in instances]
        return self.scorer.count(gold, [answer["tags"] for answer in answers]).sentences

    def read(self, args: Any, path: str) -> list[Sentence]:
        """The sentences of a file, for `qe` of the files with a prefix. Raises `DataFormatError`."""
        if self.name == "qe":
            return [(each.target, each.tags or []) for each in read_examples(path)]
        is_column = self.name == "ner"
        file = (
            read_tag_column(path, encoding=args.encoding) if is_column else read_conllu_tags(path)
        )
        return [(each.words or [], each.tags) for each in file.sentences]

    def trivial_counts(self, args: Any, files: Files) -> dict[str, Counts]:
        sentences = {part: self.read(args, path) for part, path in files.items()}
        rows = {"most frequent tag": most_frequent_tags(sentences["train"])}
        if self.name == "qe":
            rows.update({"all BAD": lambda word: "BAD", "all OK": lambda word: "OK"})
        counts: dict[str, Counts] = {}
        for name, tag_of in rows.items():
            counts[name] = {}
            for part in PARTS:
                gold = [tags for _, tags in sentences[part]]
                predicted = [list(map(tag_of, words)) for words, _ in sentences[part]]
                counts[name][part] = [self.scorer.count(gold, predicted).sentences]
        if self.name == "qe":
            tags = Counter(tag for _, gold in sentences["train"] for tag in gold)
            rate = tags["BAD"] / tags.total()
            random = {part: [[random_counts(sentences[part], rate)]] for part in PARTS}
            counts["random"] = random
        return counts

    def trivial_table(self, args: Any, files: Files) -> str:
        """In quality estimation with F1 of both tags."""
        study = copy(self)
        if self.name == "qe":
            study.scores = {**self.scores, "f1_bad": "F1-BAD", "f1_ok": "F1-OK"}
        return Study.trivial_table(study, args, files)


def random_counts(sentences: list[Sentence], rate: float) -> list[float]:
    """The expected counts where each word is tagged BAD with the probability `rate`."""
    tags = Counter(tag for _, gold in sentences for tag in gold)
    return [tags[gold] * share for gold in ("BAD", "OK") for share in (rate, 1 - rate)]


def most_frequent_tags(training: Iterable[Sentence]) -> Callable[[str], str]:
    """A function from a word to the tag that it has most often; an unknown word gets the most frequent tag of all."""
    counts: dict[str, Counter] = defaultdict(Counter)
    overall: Counter = Counter()
    for words, tags in training:
        overall.update(tags)
        for word, tag in zip(words, tags):
            counts[word][tag] += 1

    def first(tags: Counter) -> str:
        """Of equally frequent tags, the first by name."""
        return min(tags, key=lambda tag: (-tags[tag], tag))

    default = first(overall)
    tag_of = {word: first(tags) for word, tags in counts.items()}
    return lambda word: tag_of.get(word, default)


def pairs_of(text: str) -> list[tuple[str, str]]:
    return [(first, second) for first, second in map(str.split, text.split(","))]


def mlqe_pe(part: str) -> list[str]:
    """Where a part of MLQE-PE may be: beside the others, in a folder a part, or as the archives of MLQE-PE unpack.

    Each of these is a part of a language pair: `test/en-de-test.tar.gz` has `en-de-test20/test20.src`.
    """
    folder = "{language}-" + part.rstrip("20") + "*"
    places = ("", f"{part}/", f"{folder}/", f"*/{folder}/")
    return [f"{place}{part}.src" for place in places]


QE = Tagging(
    "qe",
    "qe_bilstm qe_nef_s qe_nef_s_length qe_nef_f qe_nef_f_length qe_nef_f_crf qe_nef_f_tuned",
    {"train": mlqe_pe("train"), "dev": mlqe_pe("dev"), "test": [*mlqe_pe("test20"), "test.src"]},
    "tags",
    tag_scores.WORD_QE,
    {"f1_mult": "F1-MULT", "mcc": "MCC"},
    pairs_of("qe_nef_f qe_bilstm, qe_nef_s qe_bilstm"),
    language="*",
)
POS = Tagging(
    "pos",
    "pos_bilstm pos_easy_first pos_nef_s_csoftmax pos_nef_f_softmax pos_nef_f_sparsemax "
    "pos_nef_f_csoftmax pos_nef_f_csparsemax pos_nef_f_learned_bounds",
    {part: [f"*-{part}.conllu"] for part in ("train", *PARTS)},
    "conllu",
    tag_scores.TAGS,
    {"accuracy": "accuracy"},
    pairs_of(
        "pos_nef_f_csoftmax pos_bilstm, pos_nef_f_csoftmax pos_nef_f_softmax, "
        "pos_nef_f_csoftmax pos_nef_f_sparsemax, pos_nef_f_csoftmax pos_nef_s_csoftmax, "
        "pos_nef_f_csoftmax pos_easy_first, pos_nef_f_csoftmax pos_nef_f_csparsemax, "
        "pos_nef_f_csoftmax pos_nef_f_learned_bounds"
    ),
)
_FOR_DUTCH = (
    "ner_bilstm ner_nef_f_5 ner_bilstm_crf ner_nef_s_crf_5 ner_nef_f_crf_5 ner_nef_f_crf_length"
)
NER = Tagging(
    "ner",
    f"{_FOR_DUTCH} ner_nef_f_crf_5_csparsemax ner_nef_f_crf_5_learned_bounds "
    "ner_bilstm_crf_all_lengths ner_nef_f_crf_5_all_lengths ner_nef_f_crf_5_no_concat "
    "ner_uniform_crf_5 ner_easy_first_crf_5 ner_easy_first_crf_length "
    "ner_left_to_right_crf_length ner_right_to_left_crf_length",
    {
        part: [f"{{language}}.{ending}"]
        for part, ending in (("train", "train"), ("dev", "testa"), ("test", "testb"))
    },
    "conll",
    tag_scores.CHUNKS,
    {"f1-overall": "F1"},
    pairs_of(
        "ner_nef_f_5 ner_bilstm, ner_bilstm_crf ner_bilstm, ner_nef_f_crf_5 ner_nef_f_5, "
        "ner_nef_f_crf_5 ner_bilstm_crf, ner_nef_s_crf_5 ner_bilstm_crf, "
        "ner_nef_f_crf_length ner_bilstm_crf, ner_nef_f_crf_5 ner_nef_f_crf_5_csparsemax, "
        "ner_nef_f_crf_5 ner_nef_f_crf_5_learned_bounds, "
        "ner_bilstm_crf_all_lengths ner_bilstm_crf, "
        "ner_nef_f_crf_5_all_lengths ner_nef_f_crf_5, "
        "ner_nef_f_crf_5_all_lengths ner_bilstm_crf_all_lengths, "
        "ner_nef_f_crf_5 ner_nef_f_crf_5_no_concat, ner_nef_f_crf_5 ner_uniform_crf_5, "
        "ner_nef_f_crf_5 ner_easy_first_crf_5, ner_nef_f_crf_5 ner_easy_first_crf_length, "
        "ner_nef_f_crf_5 ner_left_to_right_crf_length, "
        "ner_nef_f_crf_5 ner_right_to_left_crf_length, "
        "ner_nef_f_crf_5_transformer_frozen ner_transformer_frozen"
    ),
    language="esp",
    only={"ned": _FOR_DUTCH},
)
