"""Heat maps of attention: a row for each step, a column for each word."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from allennlp_nef.figures._style import (
    ATTENTION_COLORS,
    ATTENTION_SCALE,
    INK,
    StyledFigure,
    drawing,
    shown,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

# In inches. A map with a longer side has smaller cells, and then only some words and steps have labels.
CELL, MAX_SIDE = 0.3, 28.0
MIN_LABEL_DISTANCE = 0.2
BAR = 1.4  # the height of the color bar
LETTER = 0.055  # the height of a letter of a slanted label


@drawing()
def heat_map(
    answers: Sequence[Mapping[str, Any]], descriptions: Sequence[Mapping[str, Any]]
) -> StyledFigure:
    """Draws the attention to the words of a sentence, with one map below the other if there are several models.

    The words are above a map and their predicted tags below it, both in the color of the tag. A wrong tag is followed
    by the gold one, as in "VERB \u2260 NOUN". Step 1 is at the top.

    # Parameters

    answers : `Sequence[Mapping[str, Any]]`
        The answer of each model's predictor with its `trace`, and optionally with `gold`, the gold tags or None.
    descriptions : `Sequence[Mapping[str, Any]]`
        The description of each model's predictor: `title`, `colors` (by tag) and `step_name`.
    """
    words = max(len(answer["tokens"]) for answer in answers)
    rows = [len(answer["trace"]["attention"]) for answer in answers]
    cell = min(CELL, MAX_SIDE / max(words, *rows))
    # At least the size of the maps and their labels; empty space is cropped when the figure is saved.
    letters = sum(
        min(24, max(map(len, labels)))
        for answer in answers
        for labels in (answer["tokens"], _tags_below(answer))
    )
    heights = [max(cell * count, BAR) for count in rows]
    height = sum(heights) + 1.1 * len(rows) + LETTER * letters
    figure = StyledFigure(cell * words + 2.2, height)
    grid = figure.add_gridspec(
        len(rows), 2, width_ratios=[cell * words, 0.14], height_ratios=heights
    )
    every = math.ceil(MIN_LABEL_DISTANCE / cell)
    for row, (answer, description) in enumerate(zip(answers, descriptions)):
        image = _draw_map(figure.add_subplot(grid[row, 0]), answer, description, every)
    bar = figure.colorbar(image, cax=figure.add_subplot(grid[0, 1]), label="attention")
    bar.ax.set(box_aspect=BAR / 0.14, anchor="N")
    bar.set_ticks([0, 0.05, 0.2, 0.5, 1], labels=["0", "0.05", "0.2", "0.5", "1"])
    return figure


def _draw_map(
    axes: "Axes", answer: Mapping[str, Any], description: Mapping[str, Any], every: int
) -> "AxesImage":
    """Draws the map of one model, with every n-th label."""
    attention, words = answer["trace"]["attention"], answer["tokens"]
    image = axes.imshow(attention, cmap=ATTENTION_COLORS, norm=ATTENTION_SCALE)
    axes.set_anchor("NW")
    axes.set_title(description["title"])
    axes.spines[:].set_visible(True)
    colors = [description["colors"].get(tag, INK) for tag in answer["tags"]]
    columns, rows = range(0, len(words), every), range(0, len(attention), every)

    axes.set_ylabel(description["step_name"])
    of_words = description["step_name"] == "word"
    names = words if of_words else [str(n + 1) for n in range(len(attention))]
    axes.set_yticks(rows, [shown(names[n], 12) for n in rows])

    axes.xaxis.tick_top()
    axes.set_xticks(columns, [shown(words[i]) for i in columns])
    below = axes.secondary_xaxis("bottom")
    tags = _tags_below(answer)
    below.set_xticks(columns, [shown(tags[i]) for i in columns])
    if any("\u2260" in tag for tag in tags):
        below.set_xlabel("a wrong tag: predicted \u2260 gold")
    slanted = {"rotation": 45, "rotation_mode": "anchor"}
    for i, word, tag in zip(columns, axes.get_xticklabels(), below.get_xticklabels()):
        word.set(color=colors[i], horizontalalignment="left", verticalalignment="center", **slanted)
        tag.set(color=colors[i], horizontalalignment="right", verticalalignment="center", **slanted)
    for labeled in (axes, below):
        labeled.tick_params(length=0)
    return image


def _tags_below(answer: Mapping[str, Any]) -> list[str]:
    """Returns the predicted tags, and the gold ones of words where they differ."""
    gold = answer.get("gold") or answer["tags"]
    return [
        tag if tag == right else f"{tag} \u2260 {right}" for tag, right in zip(answer["tags"], gold)
    ]
