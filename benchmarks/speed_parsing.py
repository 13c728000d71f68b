"""Part 10 of `speed.py`: `arc_mlp_parser` against `biaffine_parser` of allennlp-models, where that is installed.

Both have the words, tags and BiLSTM of `training_configs/parse_arc_mlp`, without word dropout, and its optimizer. The
batches have 16 sentences of 25 random words, and 54 labels. In training `arc_mlp_parser` finds the best projective tree
of each sentence, and `biaffine_parser` the best head of each word; parsing is Eisner's algorithm against AllenNLP's
spanning trees.
"""

from functools import partial
from typing import Any

import torch
from allennlp.models import Model
from speed_baselines import experiment
from speed_harness import Case, Row, Settings, compare
from speed_taggers import SIZES, TOKENS, Action, Run

SENTENCES = 16
BASELINE = "biaffine_parser"


def parsing(settings: Settings) -> list[Case]:
    """A training step and the parsing of a batch."""
    try:
        import allennlp_models.structured_prediction  # noqa: F401  # registers the parser
    except ImportError:
        return []
    actions = {"training step": Run.train, "parsing": _parse}
    return [partial(_case, settings, what, action) for what, action in actions.items()]


def _case(settings: Settings, what: str, action: Action) -> list[Row]:
    torch.manual_seed(1)
    sentences = settings.rounds(SENTENCES)
    batches = [random_batch(settings, sentences) for _ in range(8)]
    runs = []
    for name in ("parse_arc_mlp", "parse_biaffine"):
        config = experiment(name, "{ word_dropout:: 0 }")
        run = Run(settings, config["model"], batches, trainer=config["trainer"])
        runs.append(run.started(settings, action))
    return [compare(settings, f"arc_mlp_parser, {what}", BASELINE, *runs)]


@torch.no_grad()
def _parse(run: Run) -> None:
    model: Model = run.model
    batch = next(run.batches)
    model(**{name: field for name, field in batch.items() if not name.startswith("head_")})


def random_batch(settings: Settings, sentences: int) -> dict[str, Any]:
    """A batch with a tree for each sentence: each word hangs on the one before it, with a label that can be learned."""
    shape = sentences, TOKENS
    words, tags = (torch.randint(2, SIZES[name], shape) for name in ("tokens", "pos"))
    tensors = {
        "pos_tags": tags,
        "head_indices": torch.arange(TOKENS).expand(shape),
        "head_tags": words % SIZES["head_tags"],
    }
    return {
        "words": {"tokens": {"tokens": words.to(settings.device)}},
        **{name: value.to(settings.device) for name, value in tensors.items()},
        "metadata": [{"words": [], "pos": []}] * sentences,
    }
