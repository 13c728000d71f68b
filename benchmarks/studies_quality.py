"""Quality estimation at thresholds from dev: words, gaps and source words; and scores of sentences."""

import argparse
from pathlib import Path
from typing import Any

import numpy
from studies import (
    PARTS,
    Counts,
    Files,
    Results,
    Study,
    columns,
    counts_of,
    experiment,
    markdown,
    mean_and_spread,
)
from studies_tagging import QE, most_frequent_tags

from allennlp_nef.data.formats.wmt_word_qe import ReadOptions, read_examples
from allennlp_nef.metrics.tag_scores import WORD_QE
from allennlp_nef.metrics.wmt_scores import CORRELATIONS
from allennlp_nef.predictors.archives import load_predictor

CONDITIONS = ("given", "computed", "none")


class TwoThresholds:
    """Scores of two confusion matrices of each sentence: at the best threshold for F1-MULT, and at that for MCC."""

    def scores(self, counts: numpy.ndarray) -> dict[str, numpy.ndarray]:
        """Those of (..., 8) counts."""
        f1_mult, mcc = WORD_QE.scores(counts[..., :4]), WORD_QE.scores(counts[..., 4:])
        return {"f1_mult": f1_mult["f1_mult"], "mcc": mcc["mcc"]}


class Thresholds(Study):
    """Words, gaps or source words, calibrated on dev, at the thresholds that are best on dev for each score.

    Of words there are tables for three conditions: the data come with alignments ("given"), the model's own aligner
    computes them ("computed"), or there are none ("none"). Training sentences
    are weighted by their similarity to dev, unless --unweighted says no.
    """

    patterns, language = QE.patterns, QE.language
    scorer, scores = TwoThresholds(), QE.scores

    def __init__(self, task: str) -> None:
        self.tagged = "target" if task == "thresholds" else task
        if self.tagged == "target":
            self.configs = ("qe_nef_f_affixes", "qe_bilstm_affixes", "qe_nef_f_tuned")
            self.encoders = QE.encoders
        else:
            self.configs = (f"qe_nef_f_{task}", f"qe_bilstm_{task}")
            self.encoders = (f"qe_transformer_{task}",)

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        if self.tagged == "target":
            text = "all training sentences count as much"
            parser.add_argument("--unweighted", action="store_true", help=text)

    def params(self, args: Any, row: str, seed: int, files: Files, folder: Path) -> Any:
        changes: dict[str, Any] = {}
        if self.tagged == "target" and not args.unweighted:
            changes["dataset_reader.weighting"] = {"target_path": files["dev"]}
        return experiment(row, seed, files, {**changes, **args.overrides})

    def finish(self, args: Any, files: Files, folder: Path, result: dict[str, Any]) -> None:
        from allennlp_nef.calibration.fitting import calibration_of, confidences
        from allennlp_nef.modules.calibration import Calibration

        predictor: Any = load_predictor(str(folder / "model.tar.gz"), args.cuda_device)
        words = {part: self.words(predictor, files[part]) for part in PARTS}
        best = [calibration_of(words["dev"]["given"], score) for score in self.scores]
        for condition in words["dev"]:
            result["counts"][condition] = {
                part: numpy.concatenate(
                    [tagged_counts(words[part][condition], each) for each in best], -1
                ).tolist()
                for part in PARTS
            }
        for name, calibration in (("before", Calibration()), ("after", best[-1])):
            for part in PARTS:
                error = confidences(words[part]["given"], calibration).ece()
                result[f"{part}, {name}"] = error

    def words(self, predictor: Any, path: str) -> dict[str, Any]:
        """The words of a data set under each condition that the model knows."""
        from allennlp_nef.calibration.fitting import Words, sentences_of

        reader, instances = predictor._dataset_reader, {}
        if self.tagged != "target":
            instances["given"] = list(reader.read(path))
        else:
            examples = list(reader.examples(path))
            for condition in CONDITIONS:
                if condition == "computed" and reader.aligner is None:
                    continue
                instances[condition] = []
                for each in examples:
                    alignments = {"given": each.alignments or [], "none": []}.get(condition)
                    words = each.source, each.target, alignments, each.tags
                    instances[condition].append(reader.build_instance(*words))
        return {
            condition: Words(sentences_of(predictor, some, path, 64), predictor._model.tag_decoder)
            for condition, some in instances.items()
        }

    def tables(self, args: Any, files: Files, results: Results, output: Path) -> str:
        """Scores and paired tests with given alignments, scores under each condition, and calibration errors."""
        given = {row: at_condition(runs, "given") for row, runs in results.items()}
        texts = [super().tables(args, files, given, output)]
        lines = [["row, alignments", *columns(self.scores.values())]]
        titles = [f"{part}, {name}" for part in PARTS for name in ("before", "after")]
        errors = [["calibration error", *titles]]
        for row, runs in results.items():
            for condition in runs[0]["counts"]:
                counts = counts_of(at_condition(runs, condition))
                lines.append([f"`{row}`, {condition}", *self.cells(counts)])
            cells = [mean_and_spread([run[title] for run in runs]) for title in titles]
            errors.append([f"`{row}`", *cells])
        if self.tagged == "target":
            texts.append(markdown(lines))
        return "\n\n".join([*texts, markdown(errors)])

    def trivial_counts(self, args: Any, files: Files) -> dict[str, Counts]:
        """The tag that a word has most often, for a gap that of the word after it."""

        def words_of(example: Any) -> list[str]:
            words = example.source if self.tagged == "source" else example.target
            return [*words, ""] if self.tagged == "gaps" else words

        def gold_of(example: Any) -> list[str]:
            return example.tags_of(self.tagged) or []

        examples = {
            part: list(read_examples(path, ReadOptions(tagged=self.tagged)))
            for part, path in files.items()
        }
        pairs = [(words_of(each), gold_of(each)) for each in examples["train"]]
        tag_of, counts = most_frequent_tags(pairs), {}
        for part in PARTS:
            predicted = [list(map(tag_of, words_of(each))) for each in examples[part]]
            once = WORD_QE.count(list(map(gold_of, examples[part])), predicted).sentences
            counts[part] = [numpy.concatenate([once, once], -1)]
        return {"most frequent tag": counts}


def at_condition(runs: list[dict[str, Any]], condition: str) -> list[dict[str, Any]]:
    """The runs with the counts of one condition."""
    return [{**run, "counts": run["counts"][condition]} for run in runs]


def tagged_counts(words: Any, calibration: Any) -> numpy.ndarray:
    """The confusion matrix of each sentence at the threshold of a calibration: (sentences, 4)."""
    from allennlp_nef.calibration.fitting import confidences

    values = confidences(words, calibration).values
    tags = numpy.where(values >= calibration.threshold, "BAD", "OK").tolist()
    predicted, start = [], 0
    for sentence in words.sentences:
        predicted.append(tags[start : start + len(sentence.tags)])
        start += len(sentence.tags)
    return WORD_QE.count([sentence.gold for sentence in words.sentences], predicted).sentences


class ScoresAndRanks:
    """Pearson's r and the errors of scores, and Spearman's, which is Pearson's r of the ranks."""

    def scores(self, counts: numpy.ndarray) -> dict[str, numpy.ndarray]:
        """Those of (..., 16) sums."""
        ranks = CORRELATIONS.scores(counts[..., 8:])
        return {**CORRELATIONS.scores(counts[..., :8]), "spearman": ranks["pearson"]}


class Hter(Study):
    """Scores of sentences against HTER. The score of `qe_nef_f_tuned` is its mean probability of BAD."""

    configs = ("qe_nef_f_sentences", "qe_bilstm_sentences", "qe_nef_f_tuned")
    encoders = ("qe_transformer_sentences",)
    patterns, language = QE.patterns, QE.language
    scorer = ScoresAndRanks()
    scores = {"pearson": "Pearson", "spearman": "Spearman", "mae": "MAE", "rmse": "RMSE"}
    pairs = [(configs[0], configs[2]), (configs[1], configs[2]), (configs[0], configs[1])]
    scale, digits = 1, 4

    def count(self, args: Any, folder: Path, part: str, path: str) -> numpy.ndarray:
        predictor: Any = load_predictor(str(folder / "model.tar.gz"), args.cuda_device)
        answers = predictor.predict_batch_instance(list(predictor._dataset_reader.read(path)))
        return correlation_counts(hter_of(path), [answer["sentence_score"] for answer in answers])

    def trivial_counts(self, args: Any, files: Files) -> dict[str, Counts]:
        mean = float(numpy.mean(hter_of(files["train"])))
        gold = {part: hter_of(files[part]) for part in PARTS}
        counts = {
            part: [correlation_counts(gold[part], [mean] * len(gold[part]))] for part in PARTS
        }
        return {"mean of training": counts}


def hter_of(path: str) -> list[float]:
    """The gold scores of a data set."""
    return [
        float(each.hter or 0) for each in read_examples(path, ReadOptions(sentence_scores=True))
    ]


def correlation_counts(gold: list[float], predicted: list[float]) -> numpy.ndarray:
    """What `ScoresAndRanks` needs of each sentence."""
    from scipy.stats import rankdata

    sides = [numpy.asarray(side) for side in (gold, predicted)]
    return numpy.concatenate(
        [
            CORRELATIONS.count(*(side[:, None].tolist() for side in pair)).sentences
            for pair in (sides, [rankdata(side) for side in sides])
        ],
        -1,
    )
