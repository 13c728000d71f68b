"""`allennlp-nef plot-sketches`: heat maps, saliency, and the summary of a corpus."""

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from allennlp_nef.cli.shared import (
    add_batches,
    add_format,
    add_output,
    add_trust,
    call_with,
    check_folder,
    checking,
    decimals,
    formats_of,
    integer,
    percent,
    save_figure,
    table_text,
    write_texts,
)
from allennlp_nef.errors import DataFormatError, UserError, printable, quote

if TYPE_CHECKING:
    from allennlp.data import Instance

    from allennlp_nef.predictors.base import TaggingPredictor

SUMMARY = "Plot what the steps of a tagger attend to, sentence by sentence or over a corpus."
DETAILS = """
A heat map a sentence, sentence-0001.png and so on: a row a step, a column a word, the darker the more attention (by its
square root), on one scale for all. Words have the colors of their predicted tags. A cross below a word says that its
tag is wrong, where INPUT has gold tags. All of INPUT is plotted, some three sentences a second, unless --limit sets a
smaller number.

INPUT is a file of JSON requests, one a line, as for `allennlp predict`; or what the dataset reader of the model reads,
as for `allennlp evaluate`: a file, or for quality estimation the prefix of several.

    %(prog)s runs/qe_nef_f/model.tar.gz fixtures/qe/test --output plots --limit 10 --html
    %(prog)s runs/pos/model.tar.gz fixtures/pos/test.conllu --output plots --limit 0 --summary

With --saliency, maps of gradient saliency stand beside those of attention. A row is a prediction: a tag, or a chunk,
such as an entity. Its cells sum to 1: the shares of the words, by the gradient of the log-odds of the prediction times
the vector of the word. In quality estimation one map has the words that are tagged, and one the words of the other
side.

With --summary, summary.txt (also printed), summary.json and a plot, over all sentences of INPUT: on which tags the
first step falls, after which steps tags settle and how right they are, and the attention on words that were wrong.

The exit status is 2 where INPUT or an archive cannot be read.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "archive", metavar="ARCHIVE", help="archive of a model with steps, layers or self-attention"
    )
    add("input", metavar="INPUT", help="requests, or data of the model's reader: see above")
    add_output(parser)
    add(
        "--compare",
        nargs="+",
        default=[],
        metavar="ARCHIVE",
        help="further models, whose maps stand beside the first one's, or below where they are wide",
    )
    add_format(parser, "plots")
    add(
        "--limit",
        type=integer(0),
        metavar="N",
        help="plot the first N sentences only (default = all); 0 only with --summary",
    )
    add(
        "--saliency",
        action="store_true",
        help="plot gradient saliency too: one pass through the model for each prediction",
    )
    add("--html", action="store_true", help="write index.html too, which replays the steps")
    add("--summary", action="store_true", help="report on all of INPUT")
    add(
        "--json",
        action="store_true",
        help="with --summary: print its numbers as JSON, and nothing else",
    )
    add_batches(parser, "a model")
    add_trust(parser)


def run(args: argparse.Namespace) -> Iterator[str]:
    if args.json and not args.summary:
        raise UserError("--json: expected --summary, whose numbers it prints")
    summaries, stems = call_with(plot_sketches, args)
    if args.json:
        yield json.dumps(summaries, indent=2)
        return
    if args.summary:
        yield summary_text(summaries)
    folder, formats = Path(args.output), formats_of(args.format)
    for ending in formats if stems else ():
        first, last = (folder / f"{stem}.{ending}" for stem in (stems[0], stems[-1]))
        yield f"{len(stems)} heat maps: {first} to {last}" if stems[1:] else f"1 heat map: {first}"
    if args.html:
        yield f"1 page: {folder / 'index.html'}"
    if args.summary:
        names = ", ".join(f"summary.{ending}" for ending in ("txt", "json", *formats))
        yield f"1 summary: {names} in {folder}"


@checking(add_arguments)
def plot_sketches(
    archive: str,
    input: str,
    *,
    output: str,
    compare: Sequence[str] = (),
    format: Sequence[str] | None = None,
    limit: int | None = None,
    saliency: bool = False,
    html: bool = False,
    summary: bool = False,
    batch_size: int = 64,
    cuda_device: int = -1,
    trust: bool = False,
) -> tuple[list[dict[str, Any]], list[str]]:
    """Writes plots of the attention of one or several models into a folder.

    The parameters are the options of `allennlp-nef plot-sketches`.

    # Returns

    `tuple[list[dict[str, Any]], list[str]]`
        The summary of each model (none without `summary`), as the command prints it as JSON; and the names of the heat
        maps, without their endings.

    # Raises

    `UserError`: a wrong option, or input or archives that cannot be used.
    """
    from allennlp.common import Tqdm

    from allennlp_nef.figures.display import page_of
    from allennlp_nef.figures.heat_maps import heat_map
    from allennlp_nef.figures.sketch_summary import SketchSummary, summary_plot
    from allennlp_nef.figures.style import check_installed, drawing

    check_installed()
    if limit == 0 and (html or not summary):
        raise UserError("--limit: expected 0 only with --summary and without --html, or at least 1")
    if limit == 0 and saliency:
        raise UserError("--saliency: expected heat maps, got --limit 0")
    check_folder(output)
    models = load_models([archive, *compare], cuda_device, batch_size, trust)
    for model in models:
        if saliency:
            check_saliency(model)
        if summary and model.description["step_name"] != "step":
            raise UserError(
                f"{model.path}: expected a model with neural_easy_first for --summary, "
                f"got {model.description['title']}"
            )
    folder, formats = Path(output), formats_of(format)
    pages: list[dict[str, Any]] = [
        {"description": model.description, "sentences": []} for model in models
    ]
    summaries = [SketchSummary(model.description["title"], model.path) for model in models]
    stems = []
    wanted = None if summary else limit
    answers_of = read_answers(models, input, min(batch_size, wanted or batch_size))
    # At the end of the context the bar ends its line, before an error is printed.
    with Tqdm.tqdm(islice(answers_of, wanted), desc="sentences") as progress:
        for number, answers in enumerate(progress, 1):
            if limit is None or number <= limit:
                stems.append(f"sentence-{number:04d}")
                maps = []
                for model, answer in zip(models, answers):
                    maps.append((answer, model.description))
                    maps += saliency_maps(model, answer) if saliency else []
                with drawing():
                    save_figure(heat_map(*zip(*maps)), folder / stems[-1], formats)
                for page, answer in zip(pages, answers):
                    page["sentences"] += [answer] if html else []
            if summary:
                for counts, answer in zip(summaries, answers):
                    counts.add(answer)
    if html:
        write_texts(folder / "index", {"html": page_of(pages)})
    if not summary:
        return [], stems
    results = [counts.results() for counts in summaries]
    texts = {"txt": summary_text(results), "json": json.dumps(results, indent=2) + "\n"}
    write_texts(folder / "summary", texts)
    with drawing():
        figure = summary_plot(results, [model.description["colours"] for model in models])
        save_figure(figure, folder / "summary", formats)
    return results, stems


class SketchedAnswer(dict[str, Any]):
    """The answer for a sentence of a file, with `trace`, and with `gold`: the gold tags or None."""

    instance: "Instance"
    """The sentence."""


class SketchModel(NamedTuple):
    """A model that keeps a trace."""

    path: str
    """The path of its archive."""
    predictor: "TaggingPredictor"
    description: dict[str, Any]
    """The description of the predictor, with a title that no other model has and without examples."""


def load_models(
    paths: Sequence[str], cuda_device: int = -1, batch_size: int = 64, trust: bool = False
) -> list[SketchModel]:
    """Loads the models of archives. Raises a `UserError` where one keeps no trace, or has another task."""
    from allennlp_nef.predictors.archives import check_device, load_predictor

    check_device(cuda_device)
    options: dict[str, Any] = {"trace": True, "batch_size": batch_size, "trust": trust}
    predictors = [load_predictor(path, cuda_device, **options) for path in paths]
    descriptions = [predictor.description() for predictor in predictors]
    for path, description in zip(paths, descriptions):
        if description["step_name"] is None:
            raise UserError(
                f"{path}: expected a model with neural_easy_first, label_attention or "
                f"position_aware_self_attention to plot, got {description['title']}"
            )
        if description["task"] != descriptions[0]["task"]:
            raise UserError(
                f"{path}: expected a model of the task {descriptions[0]['task']} like {paths[0]}, "
                f"got {description['task']}"
            )
    titles = _distinct([description["title"] for description in descriptions], paths)
    return [
        # The page of replays shows the description, but no other sentences than those of the file.
        SketchModel(path, predictor, {**description, "title": title, "examples": None})
        for path, predictor, description, title in zip(paths, predictors, descriptions, titles)
    ]


def _distinct(titles: Sequence[str], paths: Sequence[str]) -> list[str]:
    """The titles, each one different. To equal ones it adds the archive's folder, or its path if that is equal too."""
    folders = [Path(path).resolve() for path in paths]
    folders = [path if path.is_dir() else path.parent for path in folders]
    for names in ([folder.name for folder in folders], paths):
        counts = Counter(titles)
        named = [f"{title} ({name})" for title, name in zip(titles, names)]
        named = [new if counts[title] > 1 else title for title, new in zip(titles, named)]
        if len(set(named)) == len(named):
            break
    return named


def read_answers(
    models: Sequence[SketchModel], path: str, batch_size: int
) -> Iterator[list[SketchedAnswer]]:
    """Tags the sentences of a file, of which it holds a batch in memory. Yields for each the answer of each model.

    # Raises

    `DataFormatError`: no sentence, a sentence that cannot be read, or other words for one model than for another.
    """
    streams = [_answers(model.predictor, path, batch_size) for model in models]
    number = 0
    for number, answers in enumerate(zip_longest(*streams), 1):
        for model, answer in zip(models, answers):
            if answer is None:
                raise DataFormatError(
                    f"{path}: expected as many sentences for each archive, got {number - 1} for {model.path}"
                )
            words = answers[0]["tokens"], answer["tokens"]
            if words[0] != words[1]:
                got, place = [str(len(side)) for side in words], ""
                for index, pair in enumerate(zip(*words), 1):
                    if pair[0] != pair[1]:
                        got, place = [quote(word) for word in pair], f" as word {index}"
                        break
                raise DataFormatError(
                    f"{path}: sentence {number}: expected the same words for each archive, got {got[0]} for "
                    f"{models[0].path} and {got[1]} for {model.path}{place}"
                )
        yield list(answers)
    if not number:
        raise DataFormatError(f"{path}: expected at least one sentence, got none")


def _answers(predictor: "TaggingPredictor", path: str, batch_size: int) -> Iterator[SketchedAnswer]:
    from allennlp.common.util import lazy_groups_of

    from allennlp_nef.cli.inputs import holds_requests, instances_of

    instances = instances_of(predictor, path, holds_requests(path))
    for batch in lazy_groups_of(instances, batch_size):
        answers: Any = predictor.predict_batch_instance(batch)
        for instance, answer in zip(batch, answers):
            sketched = SketchedAnswer(answer, gold=answer.metadata.tags)
            sketched.instance = instance
            yield sketched


def check_saliency(model: SketchModel) -> None:
    """Raises a `UserError` where the model has no vectors of words to differentiate by."""
    from allennlp.common.checks import ConfigurationError

    try:
        model.predictor.get_interpretable_layer()
    except ConfigurationError as error:
        raise UserError(f"{model.path}: --saliency: {error.message}") from error


def saliency_maps(
    model: SketchModel, answer: SketchedAnswer
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The saliency of the words for each prediction, by AllenNLP's `SimpleGradient`.

    An answer and a description, for `heat_map`, of the words that are tagged, and in quality estimation of the words of
    the other side too. A row is all 0 where no word of a side has a part in the prediction.
    """
    from allennlp.interpret.saliency_interpreters import SimpleGradient

    fields: Any = answer.instance.fields
    instance: Any = answer.instance  # it stands for a request
    gradients = SimpleGradient(model.predictor).saliency_interpret_from_json(instance)
    has_chunks = model.description["task"] == "chunks"
    names = [span["text"] for span in answer["spans"]] if has_chunks else answer["tokens"]
    row_name = "predicted chunk" if has_chunks else "predicted tag"
    own = {name: answer[name] for name in ("tokens", "tags", "gold")}
    sides = [("grad_input_1", "words", own)]
    if "target" in fields:
        others = [token.text for token in fields["source"].tokens]
        side = {"tokens": others, "tags": [None] * len(others), "gold": None}
        other_name = "target words" if answer.get("tagged") == "source" else "source words"
        sides = [("grad_input_2", "words", own), ("grad_input_1", other_name, side)]
    maps = []
    for key, name, words in sides:
        weights = numpy.nan_to_num([values[key] for values in gradients.values()]).tolist()
        trace = {"attention": weights, "predictions": names or ["no chunk"]}
        title = f"{model.description['title']}\nsaliency of the {name}"
        description = {**model.description, "title": title, "step_name": row_name}
        maps.append(({**words, "trace": trace}, description))
    return maps


def summary_text(summaries: Sequence[Mapping[str, Any]]) -> str:
    """The content of summary.txt: the tables of each model, with percentages for shares and accuracies."""
    return "\n\n\n".join(map(_tables, summaries)) + "\n"


def _tables(results: Mapping[str, Any]) -> str:
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
    ("on a wrong one", "attention_wrong", decimals),
    ("on a right one", "attention_right", decimals),
    ("on all wrong %", "share_on_wrong", percent),
    ("if even %", "even_share", percent),
)
