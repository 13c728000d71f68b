"""`allennlp-nef plot-labels`: label embeddings in two dimensions, as in Figure 4 of Cui & Zhang (EMNLP 2019)."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy

from allennlp_nef.cli.shared import (
    add_format,
    add_output,
    add_trust,
    call_with,
    check_folder,
    checking,
    formats_of,
    number,
    save_figure,
    write_texts,
)
from allennlp_nef.errors import UserError
from allennlp_nef.figures.style import SOFT, check_installed, drawing, literal, new_figure, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from allennlp_nef.predictors.base import TaggingPredictor

SUMMARY = "Plot the label embeddings of a model with label attention, and export them."
DETAILS = """
Writes labels.png and labels.svg, the embeddings in two dimensions by t-SNE, as in Figure 4 of Cui & Zhang (EMNLP 2019),
in the colors that the tags have elsewhere; and, in the format of the TensorFlow Embedding Projector
(projector.tensorflow.org), vectors.tsv, a line of numbers a label, and metadata.tsv, the labels.

    %(prog)s runs/pos_lan/model.tar.gz --output plots/labels

The exit status is 2 where the archive cannot be read, or its model has no label embeddings.
"""
_SIDE, _MARGIN = 6.0, 0.25  # of the plot, in inches
_MAX_NAME_LENGTH = 40
_MAX_LABELS_IN_FULL_SIZE = 60


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "archive", metavar="ARCHIVE", help="archive of a model with label_attention"
    )
    add_output(parser)
    add_format(parser)
    parser.add_argument(
        "--perplexity",
        type=number(1),
        metavar="P",
        help="perplexity of t-SNE, about how many labels count as near to a label: less than there are labels "
        "(default = a third of the other labels, from 1 to 30)",
    )
    add_trust(parser)


def run(args: argparse.Namespace) -> Iterator[str]:
    labels, paths = call_with(plot_labels, args)
    folder = Path(args.output)
    yield f"{len(labels)} label embeddings: vectors.tsv and metadata.tsv in {folder}"
    yield f"1 plot: {', '.join(path.name for path in paths)} in {folder}"


@checking(add_arguments)
def plot_labels(
    archive: str,
    *,
    output: str,
    format: Sequence[str] | None = None,
    perplexity: float | None = None,
    trust: bool = False,
) -> tuple[list[str], list[Path]]:
    """Writes the label embeddings of a model, and their plot, into a folder.

    The parameters are the options of `allennlp-nef plot-labels`.

    # Returns

    `tuple[list[str], list[Path]]`: the labels, and the files of the plot.

    # Raises

    `UserError`: a wrong option, or an archive that cannot be used.
    """
    from allennlp_nef.predictors.archives import load_predictor

    check_installed()
    check_folder(output)
    predictor = load_predictor(archive, trust=trust)
    labels, vectors = embeddings_of(predictor, archive)
    if perplexity is not None and not perplexity < len(labels):
        raise UserError(
            f"--perplexity: expected less than the {len(labels)} labels of {archive}, got {perplexity:g}"
        )
    folder = Path(output)
    rows = ("\t".join(f"{value:.8g}" for value in vector) for vector in vectors)
    write_texts(folder / "vectors", {"tsv": "".join(f"{row}\n" for row in rows)})
    write_texts(folder / "metadata", {"tsv": "".join(f"{label}\n" for label in labels)})
    positions = label_positions(vectors, perplexity)
    description = predictor.description()
    with drawing():
        figure = label_map(labels, positions, description["colours"], description["title"])
        return labels, save_figure(figure, folder / "labels", formats_of(format))


def embeddings_of(predictor: "TaggingPredictor", path: str) -> tuple[list[str], numpy.ndarray]:
    """The labels of a model, and their embeddings (labels, dim).

    Raises a `UserError` that names the archive `path` where the model has none, or they are not finite.
    """
    from allennlp_nef.modules.seq2seq_encoders.label_attention import LabelTable

    model = predictor._model
    for module in model.modules():
        if isinstance(module, LabelTable):
            vectors = module.weight.detach().double().cpu().numpy()
            if not numpy.isfinite(vectors).all():
                raise UserError(f"{path}: expected label embeddings of finite numbers")
            return model.tag_head.labels, vectors
    title = predictor.description()["title"]
    raise UserError(f"{path}: expected a model with label_attention, got {title}")


def label_positions(vectors: numpy.ndarray, perplexity: float | None = None) -> numpy.ndarray:
    """Embeddings in two dimensions, by t-SNE (van der Maaten & Hinton, JMLR 2008) from their principal components.

    # Parameters

    vectors : `numpy.ndarray`, (labels, dim)
    perplexity : `float`, optional (default = a third of the number of other labels, at least 1 and at most 30)
        Must be less than the number of labels.

    # Returns

    `numpy.ndarray`, (labels, 2)
    """
    from sklearn.manifold import TSNE

    count = len(vectors)
    if not numpy.ptp(vectors, axis=0).any():
        return numpy.zeros((count, 2))
    if perplexity is None:
        perplexity = min(30.0, max(1.0, (count - 1) / 3))
    # Two principal components need at least two dimensions.
    padded = numpy.pad(vectors, ((0, 0), (0, max(0, 2 - vectors.shape[1]))))
    # The approximation ("barnes_hut") cannot hold points that coincide, and there are few labels.
    options = {"init": "pca", "learning_rate": "auto", "random_state": 0, "method": "exact"}
    return TSNE(2, perplexity=perplexity, **options).fit_transform(padded)


def label_map(
    labels: Sequence[str], positions: numpy.ndarray, colors: Mapping[str, str], title: str
) -> "Figure":
    """The plot: a dot and a name for each label, at its position: (labels, 2)."""
    figure = new_figure(_SIDE, _SIDE)
    inner = 1 - 2 * _MARGIN / _SIDE
    axes: Any = figure.add_axes((_MARGIN / _SIDE, _MARGIN / _SIDE, inner, inner - 0.04))
    literal(axes.set_title(shown(title, 80)))
    size = 8 if len(labels) <= _MAX_LABELS_IN_FULL_SIZE else 5
    middle = (positions[:, 0].min() + positions[:, 0].max()) / 2
    for label, (x, y) in zip(labels, positions):
        axes.plot(x, y, "o", markersize=size / 2, color=colors[label], clip_on=False)
        is_left = x > middle  # so that the name stays within the plot
        text = axes.annotate(
            shown(label, _MAX_NAME_LENGTH),
            (x, y),
            xytext=(-size / 2 if is_left else size / 2, size / 2),
            textcoords="offset points",
            horizontalalignment="right" if is_left else "left",
            fontsize=size,
            color=colors[label],
        )
        literal(text)
    axes.margins(0.1)
    axes.set(xticks=[], yticks=[])  # positions of t-SNE have no unit
    axes.set_xlabel("t-SNE of the label embeddings", color=SOFT, fontsize=8)
    return figure
