"""The work of `plot-labels`."""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy

from allennlp_nef.commands.output_files import check_folder, formats_of, save_figure, writing
from allennlp_nef.commands.plots.label_map import label_map, label_positions
from allennlp_nef.errors import UserError
from allennlp_nef.figures.style import check_installed, drawing
from allennlp_nef.modules.label_table import LabelTable
from allennlp_nef.predictors.archives import load_predictor
from allennlp_nef.predictors.tagging_predictor import TaggingPredictor


def plot_labels(args: argparse.Namespace) -> Iterator[str]:
    """Writes the files, and yields what to print."""
    check_installed()
    check_folder(args.output)
    predictor = load_predictor(args.archive, trust=args.trust)
    labels, vectors = embeddings_of(predictor, args.archive)
    if args.perplexity is not None and not args.perplexity < len(labels):
        raise UserError(
            f"--perplexity: expected less than the {len(labels)} labels of {args.archive}, got {args.perplexity:g}"
        )
    folder = Path(args.output)
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in (
        ("vectors", ["\t".join(f"{value:.8g}" for value in vector) for vector in vectors]),
        ("metadata", labels),
    ):
        with writing(folder / f"{name}.tsv") as draft:
            draft.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    yield f"{len(labels)} label embeddings: vectors.tsv and metadata.tsv in {folder}"
    positions = label_positions(vectors, args.perplexity)
    description = predictor.description()
    with drawing():
        figure = label_map(labels, positions, description["colours"], description["title"])
        paths = save_figure(figure, folder / "labels", formats_of(args))
    yield f"1 plot: {', '.join(path.name for path in paths)} in {folder}"


def embeddings_of(predictor: TaggingPredictor, path: str) -> tuple[list[str], numpy.ndarray]:
    """The labels of a model, and their embeddings (labels, dim).

    Raises a `UserError` that names the archive `path` where the model has none, or they are not finite.
    """
    model = predictor._model
    for module in model.modules():
        if isinstance(module, LabelTable):
            vectors = module.weight.detach().double().cpu().numpy()
            if not numpy.isfinite(vectors).all():
                raise UserError(f"{path}: expected label embeddings of finite numbers")
            return model.tag_head.labels, vectors
    title = predictor.description()["title"]
    raise UserError(f"{path}: expected a model with label_attention, got {title}")
