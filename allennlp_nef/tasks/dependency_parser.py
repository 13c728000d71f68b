"""The predictor for dependency trees."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from allennlp.common.util import JsonDict
from allennlp.models import Model
from allennlp.predictors import Predictor

from allennlp_nef.data.dataset_readers.conllu import ConlluTreesReader
from allennlp_nef.data.tokenizers import split_text
from allennlp_nef.errors import UserError
from allennlp_nef.predictors.base import Item, UntaggedPredictor
from allennlp_nef.predictors.requests import TEXT, Check, check_words


@Predictor.register("dependency_parser")
class DependencyParserPredictor(UntaggedPredictor):
    """Parses sentences with `arc_mlp_parser`, or with `biaffine_parser` from allennlp-models.

    A request is a JSON object:

        {"sentence": "The dog barks", "tags": ["DET", "NOUN", "VERB"]}

    `sentence` is raw text or a list of words. `tags` are the tags of the words, as in the training data; a model that
    does not use tags needs none. The answer has `words`, `tags`, `heads` (the number of the head of each word, from 1;
    0 for the root) and `labels`, and with `arc_mlp_parser` `head_probabilities` (among all heads of the word, whether
    or not they form a tree) and `label_probabilities` (given the head).

    For the parameters see `NefPredictor`. The output format "conllu" is the input file with HEAD and DEPREL filled in.
    """

    task = "dependencies"
    needs_square_memory = True
    fields: Mapping[str, Check] = {
        "sentence": TEXT,
        "tags": (lambda value: isinstance(value, list), "a list of tags"),
    }
    _dataset_reader: ConlluTreesReader

    def __init__(self, model: Model, dataset_reader: ConlluTreesReader, **options: Any) -> None:
        names = ("pos_tag_embedding", "_pos_tag_embedding")  # the latter in `biaffine_parser`
        reads_tags = any(getattr(model, name, None) is not None for name in names)
        self.required = ("sentence", "tags") if reads_tags else ("sentence",)
        self.text_field = None if reads_tags else "sentence"
        super().__init__(model, dataset_reader, **options)

    def predict(self, sentence: str | list[str], tags: list[str] | None = None) -> JsonDict:
        """Returns the answer to a sentence."""
        return self.predict_json({"sentence": sentence, "tags": tags})

    def to_item(self, request: dict[str, Any]) -> Item:
        split = partial(split_text, tokenizer=self._dataset_reader.tokenizer)
        words, tags = self.split_field(request, "sentence", split)[0], request.get("tags")
        if tags is not None:
            check_words("tags", tags, self.max_tokens)
            if len(tags) != len(words):
                raise UserError(f"tags: expected {len(words)} tags, got {len(tags)}")
        return Item(self._dataset_reader.text_to_instance(words, tags))

    def to_answer(self, output: dict[str, Any], item: Item) -> JsonDict:
        names = ("head_probabilities", "label_probabilities")
        return {
            "words": item.metadata["words"],
            "tags": item.metadata["pos"],
            "heads": [int(head) for head in output["predicted_heads"]],
            "labels": output["predicted_dependencies"],
            **{name: output[name] for name in names if name in output},
        }
