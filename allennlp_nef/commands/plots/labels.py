"""Label embeddings in two dimensions, as in Figure 4 of Cui & Zhang (EMNLP 2019)."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy

from allennlp_nef.commands.output_files import check_folder, formats_of, save_figure, writing
from allennlp_nef.errors import UserError
from allennlp_nef.figures.style import SOFT, check_installed, drawing, literal, shown
from allennlp_nef.modules.seq2seq_encoders.label_attention import LabelTable
from allennlp_nef.predictors.archives import load_predictor
from allennlp_nef.predictors.tagging_predictor import TaggingPredictor

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SIDE, _MARGIN = 6.0, 0.25  # of the plot, in inches
_MAX_NAME_LENGTH = 40
_MAX_LABELS_IN_FULL_SIZE = 60


def label_positions(vectors: numpy.ndarray, perplexity: float | None = None) -> numpy.ndarray:
    """
    Embeddings in two dimensions, by t-SNE (van der Maaten & Hinton, JMLR 2008) from their principal components.

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
    tsne = TSNE(
        2,
        perplexity=perplexity,
        init="pca",
        learning_rate="auto",
        random_state=0,
        method="exact",
    )
    return tsne.fit_transform(padded)


def label_map(
    labels: Sequence[str],
    positions: numpy.ndarray,
    colors: Mapping[str, str],
    title: str,
) -> "Figure":
    """The plot: a dot and a name for each label. Call it, and save the figure, within `drawing`.

    # Parameters

    labels : `Sequence[str]`
    positions : `numpy.ndarray`, (labels, 2)
    colors : `Mapping[str, str]`
        The color of each label.
    title : `str`
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_SIDE, _SIDE))
    FigureCanvasAgg(figure)
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
