"""`allennlp-nef export`: a tagger as ONNX and torch.export, with a program that tags without torch."""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allennlp_nef.cli.shared import add_trust, call_with, check_folder, checking, percent

if TYPE_CHECKING:
    from allennlp_nef.exporting.runner import Sentence
    from allennlp_nef.predictors.base import TaggingPredictor

SUMMARY = "Export a tagger as ONNX and torch.export, with a program that tags without torch."
DETAILS = """
Writes to FOLDER

    tagger.onnx       from the indices of words or pieces to the scores of the labels; any number of sentences and words
    tagger.pt2        the same for torch.export.load
    tagger.json       vocabulary, labels, CRF, calibration and word aligner
    tokenizer.json    the tokenizer of a pretrained encoder
    __main__.py, nef_runner
                      the program, which needs Python, NumPy and onnxruntime, and tokenizers for an encoder

    %(prog)s runs/ner/model.tar.gz exported
    python exported < requests.jsonl > answers.jsonl
    %(prog)s runs/ner/model.tar.gz exported --int8 --check fixtures/ner/test.conll

Requests and answers are those of `predict`, without attention and traces. The tags are the same, and probabilities
differ by at most 0.00001.

A tagger can be exported if it has embeddings of words and affixes or a pretrained encoder, an lstm or gru, softmax or a
CRF, and no decoder or neural_easy_first with csoftmax or softmax.

With --int8, there is also tagger.int8.onnx, with weights of 8 bits; `python exported --int8` takes it. With --check,
what was exported tags DATA. How its answers differ from those of the predictor is printed, and where DATA have tags the
scores of all.

The exit status is 2 where a part of the tagger cannot be exported; the message names it.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("archive", metavar="ARCHIVE", help="archive of a trained tagger, or the folder of a run")
    add(
        "folder", metavar="FOLDER", help="folder to write to; files of an older export are replaced"
    )
    add("--int8", action="store_true", help="also write a model with weights of 8 bits")
    add(
        "--check",
        metavar="DATA",
        help="compare the answers with those of the predictor on data for the model's reader",
    )
    add("--json", action="store_true", help="print the numbers as JSON")
    add_trust(parser)


def run(args: argparse.Namespace) -> Iterator[str]:
    results = call_with(export, args)
    if args.json:
        yield json.dumps(results)
        return
    yield f"{results['folder']}: {', '.join(results['files'])}"
    for check in results["checks"]:
        value = check["value"]
        score = "" if value is None else f", {check['score']} {percent(value)}"
        yield (
            f"{check['model']}: {check['words']:,} words, {check['different_tags']:,} with another tag, probabilities "
            f"differ by at most {check['max_difference']:.1g}{score}"
        )


@checking(add_arguments)
def export(
    archive: str, folder: str, *, int8: bool = False, check: str | None = None, trust: bool = False
) -> dict[str, Any]:
    """Writes a folder that tags without torch.

    The parameters are the options of `allennlp-nef export`.

    # Returns

    `dict[str, Any]`
        What the command prints as JSON: the `files`, and with `check` how the answers of what was exported differ from
        those of the predictor, and the score of each.

    # Raises

    `UserError`: data or an archive that cannot be used, or a part of the tagger that cannot be exported.
    """
    from allennlp_nef.cli.inputs import holds_requests, read_instances
    from allennlp_nef.exporting.folder import write_folder
    from allennlp_nef.exporting.runner import ExportedTagger
    from allennlp_nef.predictors.archives import load_predictor

    check_folder(folder, "FOLDER")
    predictor = load_predictor(archive, trust=trust)
    # Errors before files.
    instances = read_instances(predictor, check, holds_requests(check)) if check else []
    names = write_folder(predictor, Path(folder), int8)
    checks = []
    if instances:
        expected: Any = predictor.predict_batch_instance(instances)
        sentences = [_sentence(answer) for answer in expected]
        answers = {"predictor": expected}
        for model in ("tagger.onnx", "tagger.int8.onnx")[: 1 + int8]:
            answers[model] = ExportedTagger(folder, model=model).tag_sentences(sentences)
        checks = [_compared(name, got, expected, predictor) for name, got in answers.items()]
    return {"folder": folder, "files": names, "checks": checks}


def _sentence(answer: Any) -> "Sentence":
    """What was tagged, as a request to the program."""
    from allennlp_nef.exporting.runner import Sentence

    metadata = answer.metadata
    if metadata.source is None:
        return Sentence(answer["tokens"], [])
    links = [(source, target) for source, target in answer["alignments"]]
    return Sentence(metadata.target or answer["tokens"], metadata.source, links)


def _compared(
    model: str,
    answers: Sequence[Mapping[str, Any]],
    expected: Sequence[Any],
    predictor: "TaggingPredictor",
) -> dict[str, Any]:
    from allennlp_nef.metrics.tag_scores import CHUNKS, TAGS, WORD_QE

    field = "bad_probabilities" if predictor.task == "word_qe" else "probabilities"
    tags, old = ([answer["tags"] for answer in side] for side in (answers, expected))
    differences = [
        abs(x - y) for a, b in zip(answers, expected) for x, y in zip(a[field], b[field])
    ]
    gold = [answer.metadata.tags for answer in expected]
    scorer = {"chunks": CHUNKS, "tags": TAGS, "word_qe": WORD_QE}[predictor.task]
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
