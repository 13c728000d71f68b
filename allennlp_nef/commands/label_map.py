"""Label embeddings in two dimensions, as in Figure 4 of Cui & Zhang (EMNLP 2019)."""

from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence

import numpy

from allennlp_nef.commands.figures import SOFT, literal, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SIDE = 6.0  # of the plot, in inches
_MARGIN = 0.25
_LETTERS = 40  # of a name
_MANY = 60
"""Labels; more of them are written smaller."""


def label_positions(vectors: numpy.ndarray, perplexity: Optional[float] = None) -> numpy.ndarray:
    """
    The embeddings by t-SNE (van der Maaten & Hinton, JMLR 2008), starting from their principal components.

    # Parameters

    vectors : `numpy.ndarray`, (labels, dim)
    perplexity : `float`, optional (default = a third of the other labels, at least 1 and at most 30)
        Less than the number of labels.

    # Returns

    `numpy.ndarray`, (labels, 2)
    """
    from sklearn.manifold import TSNE

    count = len(vectors)
    if not numpy.ptp(vectors, axis=0).any():
        return numpy.zeros((count, 2))
    if perplexity is None:
        perplexity = min(30.0, max(1.0, (count - 1) / 3))
    # Principal components need as many dimensions as the plot has.
    padded = numpy.pad(vectors, ((0, 0), (0, max(0, 2 - vectors.shape[1]))))
    # Exact: there are few labels, and the tree of the approximation cannot hold points that coincide.
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
    colours: Mapping[str, str],
    title: str,
) -> "Figure":
    """A dot and a name for each label. To be called within `drawing`.

    # Parameters

    labels : `Sequence[str]`
    positions : `numpy.ndarray`, (labels, 2)
    colours : `Mapping[str, str]`
        Of the labels.
    title : `str`
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_SIDE, _SIDE))
    FigureCanvasAgg(figure)
    inner = 1 - 2 * _MARGIN / _SIDE
    axes: Any = figure.add_axes((_MARGIN / _SIDE, _MARGIN / _SIDE, inner, inner - 0.04))
    literal(axes.set_title(shown(title, 80)))
    size = 8 if len(labels) <= _MANY else 5
    middle = (positions[:, 0].min() + positions[:, 0].max()) / 2
    for label, (x, y) in zip(labels, positions):
        axes.plot(x, y, "o", markersize=size / 2, color=colours[label], clip_on=False)
        is_left = x > middle  # names stay within the map
        text = axes.annotate(
            shown(label, _LETTERS),
            (x, y),
            xytext=(-size / 2 if is_left else size / 2, size / 2),
            textcoords="offset points",
            horizontalalignment="right" if is_left else "left",
            fontsize=size,
            color=colours[label],
        )
        literal(text)
    axes.margins(0.1)
    axes.set(xticks=[], yticks=[])  # t-SNE has no units
    axes.set_xlabel("t-SNE of the label embeddings", color=SOFT, fontsize=8)
    return figure
