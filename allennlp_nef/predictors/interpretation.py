"""What AllenNLP's interpreters and attackers ask of a predictor."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Instance, Token, Vocabulary
from allennlp.data.fields import FlagField, MetadataField, TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer
from allennlp.nn.util import move_to_device
from allennlp.predictors import Predictor
from overrides import overrides

from allennlp_nef.data.fields import AlignmentField, SimilarityField, TagsField
from allennlp_nef.data.formats.chunks import OUTSIDE, chunks_of
from allennlp_nef.models.base import OPTIONS, options_of
from allennlp_nef.modules.input_representations import (
    AlignedPairRepresentation,
    SentenceRepresentation,
)
from allennlp_nef.predictors.requests import request_error


class WordVectors(torch.nn.Embedding):
    """The embedders of a model as one layer, for `allennlp.interpret`.

    A hook is registered with each of the embedders. AllenNLP's interpreters remove the dimension of the batch in their
    hooks, and then read the vector of the first word as that of all words: their hooks get one dimension more here.

    # Parameters

    embedders : `Sequence[torch.nn.Module]`
    vectors : `Callable[[], torch.Tensor]`
        Gives the vectors of the words of the vocabulary (words, dim): `weight`, which `Hotflip` reads once.
    """

    def __init__(
        self, embedders: Sequence[torch.nn.Module], vectors: Callable[[], torch.Tensor]
    ) -> None:
        torch.nn.Module.__init__(self)  # it has no parameters of its own
        self._embedders = tuple(embedders)
        self._vectors = vectors

    @property
    def weight(self) -> torch.Tensor:  # type: ignore[override]
        return self._vectors()

    def register_forward_hook(self, hook: Any) -> "Handles":  # type: ignore[override]
        def with_one_dimension_more(module: Any, inputs: Any, output: torch.Tensor) -> None:
            hook(module, inputs, output.unsqueeze(0))

        return Handles(
            [each.register_forward_hook(with_one_dimension_more) for each in self._embedders]
        )

    def register_backward_hook(self, hook: Any) -> "Handles":  # type: ignore[override]
        return Handles([each.register_backward_hook(hook) for each in self._embedders])


class Handles:
    """Handles of hooks that are removed together."""

    def __init__(self, handles: list[Any]) -> None:
        self._handles = handles

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()


FLAG = "ignore_loss_on_o_tags"
"""The field, AllenNLP's, of an instance that explains the tags other than O."""


class InterpretablePredictor(Predictor):
    """A predictor for `allennlp.interpret`.

    An interpreter or attacker gets one instance for each prediction: for each chunk (such as an entity), or for each
    word where the tags are not those of chunks. Its field `tags` has O at all other words. A sentence without chunks is
    one instance.

    In quality estimation `grad_input_1` is that of the field `source`, and `grad_input_2` that of `target`.
    """

    _model: Any
    _dataset_reader: Any
    attacked_field = "target"
    """In quality estimation: "source" or "target", the field whose words `Hotflip` replaces."""

    @overrides(check_signature=False)
    def predictions_to_labeled_instances(
        self, instance: Instance, outputs: dict[str, Any]
    ) -> list[Instance]:
        """One instance for each prediction. Of an instance that explains some words, one with the tags of the same."""
        tags = list(outputs["tags"])
        groups: list[Sequence[int]] = [[index] for index in range(len(tags))]
        if FLAG in instance.fields:
            labels = self._labels_of(instance)
            groups = [[index for index, label in enumerate(labels) if label != OUTSIDE]]
        elif self._model.has_chunks:
            groups = [range(chunk.start, chunk.end) for chunk in chunks_of(tags)]
        if not groups:
            return [self._labeled(instance, tags)]
        labeled = []
        for group in groups:
            labels = [tag if index in group else OUTSIDE for index, tag in enumerate(tags)]
            labeled.append(self._labeled(instance, labels))
            labeled[-1].add_field(FLAG, FlagField(True))
        return labeled

    def _labels_of(self, instance: Instance) -> list[str]:
        field: Any = instance["tags"]
        return field.labels

    def _labeled(self, instance: Instance, labels: list[str]) -> Instance:
        fields: Any = instance.duplicate().fields
        words = fields["target" if "target" in fields else "tokens"]
        # What is explained are the tags: the trace would be computed for each prediction.
        options = replace(options_of(instance), attention=False, trace=False)
        fields[OPTIONS] = MetadataField(options)
        if "tags" not in fields:  # an attacker compares the words of later instances with these
            _number(words)
        fields["tags"] = TagsField(labels, words, self._model.label_namespace)
        fields["tags"].index(self._model.vocab)
        labeled = Instance(fields)
        labeled.index_fields(self._model.vocab)
        return labeled

    @overrides
    def get_gradients(self, instances: list[Instance]) -> tuple[dict[str, Any], dict[str, Any]]:
        """As in `Predictor`. The fields of a pair of sentences follow where words were removed or replaced.

        # Raises

        `request_error`: `InputReduction` of a sentence without predicted chunks, of which it removes every word;
        `ConfigurationError`: `InputReduction` of the source.
        """
        for instance in instances:
            fields: Any = instance.fields
            if "alignments" in fields:
                _update_pair(fields)
            elif not fields["tokens"].tokens:
                raise request_error(
                    "InputReduction: expected a sentence with predicted chunks, got one without any"
                )
        return super().get_gradients(instances)

    @overrides
    def get_interpretable_layer(self) -> torch.nn.Module:
        """What embeds the words; `weight` has the vectors of the vocabulary for `Hotflip`.

        # Raises

        `ConfigurationError`: an ensemble, or a model that embeds pieces of a pair of sentences.
        """
        representation = getattr(self._model, "input_representation", None)
        reader = self._dataset_reader
        if isinstance(representation, SentenceRepresentation):
            # AllenNLP would take the pieces that a transformer embeds.
            embedder, indexers = representation.text_field_embedder, reader.indexers["tokens"]
            return WordVectors([embedder], lambda: self._vectors(embedder, indexers))
        if not isinstance(representation, AlignedPairRepresentation):
            raise ConfigurationError(
                "allennlp.interpret: expected a single model with sentence or aligned_pair as input_representation, "
                f"got {type(representation or self._model).__name__}"
            )
        sides = {
            "source": (representation.source_embedder, reader.indexers["source"]),
            "target": (representation.target_embedder, reader.indexers["target"]),
        }
        embedder, indexers = sides[self.attacked_field]
        embedders = [each for each, _ in sides.values()]
        return WordVectors(embedders, lambda: self._vectors(embedder, indexers))

    def _vectors(self, embedder: Any, indexers: dict[str, Any]) -> torch.Tensor:
        """The vectors of the words of the vocabulary, in its order: (words, dim)."""
        vocab: Vocabulary = self._model.vocab
        for indexer in indexers.values():
            if isinstance(indexer, SingleIdTokenIndexer) and indexer.namespace:
                words = vocab.get_index_to_token_vocabulary(indexer.namespace)
                break
        else:
            raise ConfigurationError(
                f"Hotflip: expected a token indexer single_id, which lists words, got {', '.join(indexers)}"
            )
        field = TextField([Token(words[index]) for index in range(len(words))], indexers)
        field.index(vocab)
        tensors = field.batch_tensors([field.as_tensor(field.get_padding_lengths())])
        with torch.no_grad():
            return embedder(move_to_device(tensors, self.cuda_device))[0]


def _number(words: TextField) -> None:
    """Replaces the tokens by ones that know their positions."""
    words.tokens = [
        Token(token.ensure_text(), idx=index) for index, token in enumerate(words.tokens)
    ]


def _update_pair(fields: dict[str, Any]) -> None:
    """Makes alignments and similarity those of the words, of which `InputReduction` removes some."""
    source, target, links = fields["source"].tokens, fields["target"].tokens, fields["alignments"]
    rows, columns = links.tensor.shape
    if len(source) != columns:
        raise ConfigurationError(
            'InputReduction: expected input_field_to_attack "target", the words that are tagged, got "source"'
        )
    if len(target) != rows:
        kept = links.tensor[[token.idx for token in target]]
        pairs = [(source, target) for target, source in kept.nonzero().tolist()]
        fields["alignments"] = AlignmentField(pairs, len(target), columns)
        _number(fields["target"])
    if "similarity" in fields:
        # In place: `Hotflip` compares the field with that of the beginning.
        texts = ([token.text for token in side] for side in (target, source))
        SimilarityField.__init__(fields["similarity"], *texts)
