"""Heat maps of attention: a row for each step, a column for each word.

This module and `_style` need matplotlib. Their names begin with an underscore because `--include-package` imports every
public module.
"""

import math
from collections.abc import Mapping
from typing import Any

from allennlp_nef.figures._style import (
    ATTENTION_COLORS,
    ATTENTION_SCALE,
    INK,
    StyledFigure,
    drawing,
    shown,
)

# In inches. A map with a longer side has smaller cells, and then only some words and steps have labels.
CELL, MAX_SIDE = 0.3, 28.0
MIN_LABEL_DISTANCE = 0.2
BAR = 1.4  # the height of the color bar
LETTER = 0.055  # the height of a letter of a slanted label


@drawing()
def heat_map(answer: Mapping[str, Any], description: Mapping[str, Any]) -> StyledFigure:
    """Draws the attention of each step to the words of a sentence.

    The words are above the map and their predicted tags below it, both in the color of the tag. A wrong tag is followed
    by the gold one, as in "VERB \u2260 NOUN". Step 1 is at the top.

    # Parameters

    answer : `Mapping[str, Any]`
        The answer of a predictor with its `trace`, and optionally with `gold`, the gold tags or None. A word without a
        gold tag has None in their place.
    description : `Mapping[str, Any]`
        The description of the predictor: `title`, `colors` (by tag) and `step_name`.
    """
    attention, words, tags = answer["trace"]["attention"], answer["tokens"], _tags_below(answer)
    cell = min(CELL, MAX_SIDE / max(len(words), len(attention)))
    every = math.ceil(MIN_LABEL_DISTANCE / cell)
    # At least the size of the map and its labels; empty space is cropped when the figure is saved.
    letters = sum(min(24, max(map(len, labels))) for labels in (words, tags))
    width, height = cell * len(words), max(cell * len(attention), BAR)
    figure = StyledFigure(width + 2.2, height + 1.1 + LETTER * letters)
    axes, bar_axes = figure.subplots(1, 2, width_ratios=[width, 0.14])
    image = axes.imshow(attention, cmap=ATTENTION_COLORS, norm=ATTENTION_SCALE)
    axes.set_anchor("NW")
    axes.set_title(description["title"])
    axes.spines[:].set_visible(True)

    rows, columns = range(0, len(attention), every), range(0, len(words), every)
    axes.set_ylabel(description["step_name"])
    of_words = description["step_name"] == "word"
    axes.set_yticks(rows, [shown(words[n], 12) if of_words else str(n + 1) for n in rows])
    axes.xaxis.tick_top()
    axes.set_xticks(columns, [shown(words[i]) for i in columns])
    below = axes.secondary_xaxis("bottom")
    below.set_xticks(columns, [shown(tags[i]) for i in columns])
    if any("\u2260" in tag for tag in tags):
        below.set_xlabel("a wrong tag: predicted \u2260 gold")
    for labeled, alignment in ((axes, "left"), (below, "right")):
        labeled.tick_params(length=0)
        for i, label in zip(columns, labeled.get_xticklabels()):
            color = description["colors"].get(answer["tags"][i], INK)
            label.set(color=color, rotation=45, rotation_mode="anchor")
            label.set(horizontalalignment=alignment, verticalalignment="center")

    bar = figure.colorbar(image, cax=bar_axes, label="attention")
    bar.ax.set(box_aspect=BAR / 0.14, anchor="N")
    bar.set_ticks([0, 0.05, 0.2, 0.5, 1], labels=["0", "0.05", "0.2", "0.5", "1"])
    return figure


def _tags_below(answer: Mapping[str, Any]) -> list[str]:
    """Returns the predicted tags, with the gold ones of words where they are known and differ."""
    gold = answer.get("gold") or [None] * len(answer["tags"])
    return [
        tag if right in (tag, None) else f"{tag} \u2260 {right}"
        for tag, right in zip(answer["tags"], gold)
    ]
