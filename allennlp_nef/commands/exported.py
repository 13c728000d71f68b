"""The work of `export`."""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from allennlp.data import Instance

from allennlp_nef.commands.output_files import check_folder
from allennlp_nef.commands.request_files import holds_requests
from allennlp_nef.commands.sketched_sentences import instances_of
from allennlp_nef.errors import DataFormatError
from allennlp_nef.exporting.folder import write_folder
from allennlp_nef.exporting.runner import ExportedTagger, Sentence
from allennlp_nef.metrics.tag_scores import CHUNKS, TAGS, WORD_QE
from allennlp_nef.predictors.archives import load_predictor
from allennlp_nef.predictors.tagging_predictor import TaggingPredictor

SCORERS = {"chunks": CHUNKS, "tags": TAGS, "word_qe": WORD_QE}


def export(args: argparse.Namespace) -> Iterator[str]:
    """Writes the folder, and yields what to print."""
    check_folder(args.folder, "FOLDER")
    predictor = load_predictor(args.archive, trust=args.trust)
    instances = _instances(predictor, args.check) if args.check else []  # errors before files
    names = write_folder(predictor, Path(args.folder), args.int8)
    checks = _checked(predictor, instances, args) if args.check else []
    if args.json:
        yield json.dumps({"folder": args.folder, "files": names, "checks": checks})
        return
    yield f"{args.folder}: {', '.join(names)}"
    for check in checks:
        value = check["value"]
        score = "" if value is None else f", {check['score']} {100 * value:.2f}"
        yield (
            f"{check['model']}: {check['words']:,} words, {check['different_tags']:,} with another tag, probabilities "
            f"differ by at most {check['max_difference']:.1g}{score}"
        )


def _instances(predictor: TaggingPredictor, path: str) -> list[Instance]:
    instances = list(instances_of(predictor, path, holds_requests(path)))
    if not instances:
        raise DataFormatError(f"{path}: expected at least one sentence, got none")
    return instances


def _checked(
    predictor: TaggingPredictor, instances: list[Instance], args: argparse.Namespace
) -> list[dict[str, Any]]:
    """How the answers of what was exported differ from those of the predictor, and the score of each."""
    expected = predictor.predict_batch_instance(instances)
    sentences = list(map(_sentence, expected))
    models = ["tagger.onnx", *(["tagger.int8.onnx"] if args.int8 else [])]
    answers = {
        model: ExportedTagger(args.folder, model=model).tag_sentences(sentences) for model in models
    }
    answers = {"predictor": expected, **answers}
    return [_compared(name, each, expected, predictor) for name, each in answers.items()]


def _sentence(answer: Any) -> Sentence:
    links = [tuple(pair) for pair in answer.get("alignments", ())]
    return Sentence(answer["tokens"], answer.metadata.source or [], links)


def _compared(
    model: str,
    answers: list[dict[str, Any]],
    expected: list[dict[str, Any]],
    predictor: TaggingPredictor,
) -> dict[str, Any]:
    field = "bad_probabilities" if predictor.task == "word_qe" else "probabilities"
    tags, old = ([each["tags"] for each in side] for side in (answers, expected))
    differences = [
        abs(x - y) for a, b in zip(answers, expected) for x, y in zip(a[field], b[field])
    ]
    gold = [each.metadata.tags for each in expected]  # type: ignore[attr-defined]
    scorer = SCORERS[predictor.task]
    score = None
    if None not in gold:
        score = float(scorer.scores(scorer.count(gold, tags).sentences.sum(0))[scorer.primary])
    return {
        "model": model,
        "words": len(differences),
        "different_tags": sum(x != y for a, b in zip(tags, old) for x, y in zip(a, b)),
        "max_difference": max(differences),
        "score": scorer.primary,
        "value": score,
    }
