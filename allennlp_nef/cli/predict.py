"""`allennlp-nef predict`: answers the requests in a file, or sentences that a dataset reader reads."""

import argparse
import json
import logging
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from io import TextIOWrapper
from itertools import tee
from pathlib import Path
from typing import Any

from allennlp_nef.cli.arguments import (
    PREDICTOR_OPTIONS,
    add_predictor,
    add_threshold,
    positive,
)
from allennlp_nef.cli.outputs import (
    check_outputs,
    files_of,
    is_stdout,
    open_output,
    print_lines,
    writing,
)
from allennlp_nef.data.files import read_lines
from allennlp_nef.errors import DataFormatError, UserError
from allennlp_nef.qe.layouts import OK

logger = logging.getLogger(__name__)

DETAILS = (
    """
INPUT has a request on each line, such as {"sentence": "Selby met Sheldon."} for a tagger, or is "-" for standard input:
from a pipe or a terminal, each request is answered as soon as it arrives. With --use-dataset-reader, INPUT is a data
path of the model's dataset reader.

    %(prog)s qe-multilingual requests.jsonl --output-file answers.jsonl
    echo '{"source": "the house is small", "target": "das Haus ist klein"}' | %(prog)s qe-multilingual -

--predictor-args is a JSON object of options of the predictor, such as:

    output_format    "json" (default) or "text" (word/TAG); for taggers "conll" or "conllu", as their data; for quality
                     estimation "tags", "tsv", "wmt20", "wmt20_gaps", "wmt22", "wmt23-spans", "wmt25-spans" or
                     "wmt-sentences"
    input_format     "json" (default), or "text": a sentence on each line
    on_error         "stop" (default), or "skip": the answer is {"error": ...}
"""
    + PREDICTOR_OPTIONS
    + """
`allennlp-nef options word_qe` and `options nef_tagger` list all of them.
"""
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_predictor(parser)
    add = parser.add_argument
    add("input", metavar="INPUT", help="file of requests, data path, or - for standard input")
    add("--output-file", metavar="FILE", help="file to write, or - for standard output")
    add("--silent", action="store_true", help="do not print requests and answers")
    add("--use-dataset-reader", action="store_true", help="read INPUT with the dataset reader")
    add(
        "--dataset-reader-choice",
        choices=("train", "validation"),
        default="validation",
        help="which reader of the model, if it has two",
    )
    add("--batch-size", type=positive, metavar="N", help="sentences in a batch (default = 64)")
    add_threshold(parser)


def run(args: argparse.Namespace) -> Iterator[str]:
    """Predicts. An output file is replaced when it is complete; "-" gets only the answers."""
    from allennlp_nef.archives import load_predictor

    if args.silent and args.output_file is None:
        raise UserError("--silent: expected --output-file, too")
    options = {**args.predictor_args}
    if args.threshold is not None:
        options["threshold"] = args.threshold
    check_outputs([args.output_file], [*files_of(args.input), args.archive])
    is_shown = not args.silent
    with ExitStack() as stack:
        file = None
        if args.output_file is not None:
            path = Path(args.output_file)
            if is_stdout(path):
                is_shown = False
            else:
                path = stack.enter_context(writing(path))
            file = stack.enter_context(open_output(path, "w"))
        predictor = load_predictor(
            args.archive,
            args.cuda_device,
            args.predictor,
            trust=args.trust,
            overrides=args.overrides,
            reader=args.dataset_reader_choice,
            **options,
        )
        inputs = (
            (("", instance) for instance in predictor._dataset_reader.read(args.input))
            if args.use_dataset_reader
            else requests_in(args.input, predictor)
        )
        is_live = args.input == "-" and not _is_file(sys.stdin)
        tags, errors = set(), []
        answered = answers(predictor, inputs, args.batch_size, is_live)
        for number, (request, answer) in enumerate(answered):
            tags.update(answer.get("tags", ()))
            errors += [answer["error"]] if "error" in answer else []
            line = predictor.dump_line(answer)
            if is_shown:
                is_json = type(request) is dict
                text = json.dumps(request, ensure_ascii=False) if is_json else str(request)
                print_lines([f"input {number}:  {text}", f"prediction:  {line}"])
            if file is not None:
                file.write(line)
    if errors:
        logger.warning("%d requests have no answer, the first one: %s", len(errors), errors[0])
    if tags == {OK} and _is_uncalibrated(predictor):
        logger.warning(
            "All words are tagged OK. `allennlp-nef calibrate` finds a threshold for this model."
        )
    yield from ()


def requests_in(path: str, predictor: Any) -> Iterator[tuple[str, Any]]:
    """Yields the place and the request of each line that is not blank; "-" is standard input.

    A line that is not a request yields its error, if the predictor is one of this package.
    """
    from allennlp_nef.predictors.base import NefPredictor

    name, lines = path, read_lines(path)
    if path == "-":
        if isinstance(sys.stdin, TextIOWrapper):
            # A line that is not UTF-8 is an invalid request.
            sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape")
        name, lines = "<stdin>", enumerate(sys.stdin, 1)
    for number, line in lines:
        if line.strip():
            place = f"{name}:{number}"
            try:
                yield place, predictor.load_line(line)
            except ValueError as error:
                if not isinstance(predictor, NefPredictor):
                    raise DataFormatError(f"{place}: {error}") from error
                yield place, error


def answers(
    predictor: Any, inputs: Iterable[tuple[str, Any]], batch_size: int | None, is_live: bool
) -> Iterator[tuple[Any, Any]]:
    """Yields each request or instance, and its answer; in live input, each one before the next is read."""
    from allennlp.common.util import lazy_groups_of
    from allennlp.data import Instance

    from allennlp_nef.predictors.base import NefPredictor

    if isinstance(predictor, NefPredictor):
        predictor.batch_size = batch_size or predictor.batch_size
        is_live = is_live and not predictor.needs_whole_input
        groups = ([each] for each in inputs) if is_live else [inputs]
        for group in groups:
            asked, shown = tee(group)
            for answer, (_, request) in zip(predictor.stream(asked), shown):
                yield request, answer
        return
    for batch in lazy_groups_of(inputs, 1 if is_live else batch_size or 64):
        requests = [request for _, request in batch]
        kind = "instance" if isinstance(requests[0], Instance) else "json"
        yield from zip(requests, getattr(predictor, f"predict_batch_{kind}")(requests))


def _is_file(stream: Any) -> bool:
    """Returns whether a stream is a file, so its content does not have to be waited for."""
    try:
        return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except OSError:  # it has no file descriptor
        return True


def _is_uncalibrated(predictor: Any) -> bool:
    """Returns whether a quality estimator uses a threshold that nobody has chosen."""
    from allennlp_nef.qe.predictor import WordQePredictor

    return (
        isinstance(predictor, WordQePredictor)
        and predictor._model.threshold is None
        and predictor.options.get("threshold") is None
    )
