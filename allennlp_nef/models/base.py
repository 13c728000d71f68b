"""What the models share: recorded versions, options of a request, encoders with or without their traces."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from os import PathLike
from typing import Any

import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch, Instance
from allennlp.data.fields import MetadataField
from allennlp.models import Model
from allennlp.modules import Embedding
from allennlp.modules.seq2seq_encoders import ComposeEncoder, Seq2SeqEncoder
from allennlp.nn.util import move_to_device
from allennlp.training.metrics import Metric
from overrides import overrides

from allennlp_nef.models.out_of_memory import BatchShape, batch_shape, explaining_memory
from allennlp_nef.modules.halting import BatchHalting, Halting
from allennlp_nef.modules.options import check_fields
from allennlp_nef.modules.seq2seq_encoders import NeuralEasyFirst, TracedEncoder
from allennlp_nef.modules.seq2seq_encoders.traced_encoder import TagScorer
from allennlp_nef.modules.traces import EncoderTrace
from allennlp_nef.saved_versions import naming_versions, record_versions
from allennlp_nef.tensor_files import TensorFileError, load_tensors


class VersionedModel(Model):
    """A model whose weights say which versions of this package and of torch saved them.

    An error in loading it ends with a line that names these versions and those in use. Weights without them load too.
    """

    metrics: list[Metric]
    """What `get_metrics` takes its scores from. With several processes the trainer `nef` asks for them."""
    loss_weight: torch.Tensor | None = None
    """The weight of the loss of the last batch with gold values in a mean over batches, a scalar: the number of what
    the loss is a mean over."""

    batch_shape: BatchShape | None = None
    """The shape of the last batch."""

    @overrides(check_signature=False)
    def __call__(self, *args: Any, **fields: Any) -> Any:
        """The output of `forward`. Raises a `ConfigurationError` for fields of another reader, and an
        `OutOfMemoryError`."""
        if not args:
            check_fields(Model, self, fields)
        self.batch_shape = batch_shape(fields)
        with explaining_memory(self.batch_shape, self.training):
            return super().__call__(*args, **fields)

    @overrides(check_signature=False)
    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        state = super().state_dict(*args, **kwargs)
        record_versions(state)
        return state

    @classmethod
    @overrides
    def _load(
        cls,
        config: Params,
        serialization_dir: str | PathLike,
        weights_file: str | PathLike | None = None,
        cuda_device: int = -1,
    ) -> Model:
        with naming_versions(serialization_dir, weights_file):
            try:
                return super()._load(config, serialization_dir, weights_file, cuda_device)
            except AttributeError as error:
                path = weights_file or os.path.join(serialization_dir, "weights.th")
                weights = load_tensors(path, "cpu")
                if isinstance(weights, dict):
                    raise
                raise TensorFileError(
                    f"{os.path.basename(path)}: expected tensors by the names of parameters, got "
                    f"{type(weights).__name__}"
                ) from error


@dataclass(frozen=True)
class DecodeOptions:
    """What a request wants of a model, besides the answer; None for what the model or its predictor does.

    A predictor gives them to the model as the field `options` of an instance. Readers do not know them.
    """

    attention: bool = False
    """Whether the answer has the attention."""
    trace: bool = False
    """Whether the answer has the trace; of a parser, the steps at which the heads settled."""
    label_probabilities: bool = False
    """Whether the answer has the probabilities of all labels of each word."""
    threshold: float | None = None
    """A word is BAD where its probability of BAD is at least this."""
    min_probability: float | None = None
    """Below it, a chunk is left out of the answer, or a word is listed as uncertain."""
    max_steps: int | None = None
    """The largest number of steps."""
    halting: Halting | None = None
    """When the sentence halts."""

    @property
    def is_traced(self) -> bool:
        """Whether the model has to give a trace: the attention is a part of it."""
        return self.attention or self.trace

    def with_defaults(self, defaults: "DecodeOptions") -> "DecodeOptions":
        """These options, with those of `defaults` where they say nothing."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(
            defaults,
            **{
                name: value
                for name, value in values.items()
                if value is not None and value is not False
            },
        )


OPTIONS = "options"
"""The field of an instance with the options of its request."""


def with_options(instance: Instance, options: DecodeOptions) -> Instance:
    """A copy of the instance with these options, which the model gets."""
    return Instance({**instance.fields, OPTIONS: MetadataField(options)})


def options_of(instance: Instance) -> DecodeOptions:
    """The options of an instance; the default ones where it has none, as from a reader."""
    field: Any = instance.fields.get(OPTIONS)
    return DecodeOptions() if field is None else field.metadata


def thresholds_of(options: Sequence[DecodeOptions] | None) -> list[float | None] | None:
    """The threshold of each sentence of a batch; None without options."""
    return None if options is None else [option.threshold for option in options]


def run_encoder(
    encoder: Seq2SeqEncoder,
    inputs: torch.Tensor,
    mask: torch.Tensor,
    trace: bool = False,
    tag_scorer: TagScorer | None = None,
    halting: BatchHalting | None = None,
) -> tuple[torch.Tensor, EncoderTrace | None]:
    """The output of an encoder (batch, tokens, output_dim), and its trace if it is wanted and the encoder has one.

    Of encoders that `compose` joins, the last one gives the trace, and its output alone is for the tag scorer. Only
    `neural_easy_first` halts.
    """
    *before, last = parts_of(encoder)
    for part in before:
        inputs = part(inputs, mask)
    if isinstance(last, NeuralEasyFirst):
        return last.encode(inputs, mask, trace, tag_scorer, halting)
    if isinstance(last, TracedEncoder):
        return last.encode(inputs, mask, trace, tag_scorer)
    return last(inputs, mask), None


def check_input_dim(name: str, encoder: Any, dim: int, source: str) -> None:
    """Raises a `ConfigurationError` where the encoder does not take what `source` puts out, of dimension `dim`."""
    if encoder.get_input_dim() != dim:
        raise ConfigurationError(
            f"{name}: expected input_size or input_dim {dim}, the output dimension of {source}, got "
            f"{encoder.get_input_dim()}"
        )


def unlabeled_tensors(model: Model, instances: Sequence[Instance]) -> dict[str, Any]:
    """The input of a model for a batch of instances, on its device, without their gold tags."""
    batch = Batch(instances)
    batch.index_instances(model.vocab)
    tensors: Any = move_to_device(batch.as_tensor_dict(), model._get_prediction_device())
    tensors.pop("tags", None)  # the metadata have them, unknown ones too
    return tensors


def parts_of(encoder: Seq2SeqEncoder) -> list[Seq2SeqEncoder]:
    """The encoders that `compose` joins, from the first to the last; of any other encoder, itself."""
    if not isinstance(encoder, ComposeEncoder):
        return [encoder]
    return [part for inner in encoder.encoders for part in parts_of(inner)]


def check_namespaces(model: Model) -> None:
    """Raises a `ConfigurationError` where the namespace of an embedding seems to be a misspelled one of the vocabulary.

    Without this, the first word of a batch would be out of its range. A vocabulary also lacks a namespace where all of
    its words are rare.
    """
    known = model.vocab.get_namespaces()
    for name, module in model.named_modules():
        is_embedding = isinstance(module, Embedding)
        namespace = getattr(module, "_vocab_namespace", None) if is_embedding else None
        near = get_close_matches(namespace, known, 1, 0.8) if namespace else []
        if near and namespace not in known:
            raise ConfigurationError(
                f"{name}: vocab_namespace: expected one of {', '.join(sorted(known))}, got {namespace!r}"
            )
