"""Maps of gradient saliency, which stand beside those of attention."""

from typing import Any

import numpy
from allennlp.common.checks import ConfigurationError
from allennlp.interpret.saliency_interpreters import SimpleGradient

from allennlp_nef.commands.sketched_sentences import SketchedAnswer, SketchModel
from allennlp_nef.data.metadata import metadata_of
from allennlp_nef.errors import UserError


def check_saliency(model: SketchModel) -> None:
    """Raises a `UserError` where the model has no vectors of words to differentiate by."""
    try:
        model.predictor.get_interpretable_layer()
    except ConfigurationError as error:
        raise UserError(f"{model.path}: --saliency: {error.message}") from error


def saliency_maps(
    model: SketchModel, answer: SketchedAnswer
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The saliency of the words for each prediction by AllenNLP's `SimpleGradient`; `heat_map` takes it.

    An answer and a description for the words that are tagged, and in quality estimation for the words of the other
    side too. A row is all 0 where no word of a side has a part in the prediction.
    """
    fields: Any = answer.instance.fields
    metadata_of(answer.instance).trace = False  # it would be computed for each prediction
    instance: Any = answer.instance  # it stands for a request
    found = SimpleGradient(model.predictor).saliency_interpret_from_json(instance)
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
        weights = numpy.nan_to_num([values[key] for values in found.values()]).tolist()
        trace = {"attention": weights, "predictions": names or ["no chunk"]}
        title = f"{model.description['title']}\nsaliency of the {name}"
        description = {**model.description, "title": title, "step_name": row_name}
        maps.append(({**words, "trace": trace}, description))
    return maps
