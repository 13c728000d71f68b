"""Predictors of trees, also of allennlp-models' `biaffine_parser` with the probabilities that its output lacks."""

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import JsonDict
from allennlp.data import DatasetReader, Instance
from allennlp.models import Model
from allennlp.predictors import Predictor
from overrides import overrides

from allennlp_nef.data.dataset_readers import ConlluTreesReader, Prediction, UntaggedReader
from allennlp_nef.data.formats.characters import check_labels
from allennlp_nef.data.formats.conllu import UNKNOWN
from allennlp_nef.data.metadata import metadata_of
from allennlp_nef.errors import DataFormatError, UserError
from allennlp_nef.models import ArcMlpParser
from allennlp_nef.models.arc_mlp_parser import spanning_tree_heads
from allennlp_nef.models.base import OPTIONS, options_of, parts_of, with_options
from allennlp_nef.modules.seq2seq_encoders import NeuralEasyFirst
from allennlp_nef.nn.parsing import with_root_label
from allennlp_nef.predictors.base import Answer
from allennlp_nef.predictors.requests import (
    check_fields,
    describe,
    request_error,
    requested_options,
    words_of,
)
from allennlp_nef.predictors.sentence_predictor import SentencePredictor

_PARTS = ("arc_attention", "head_tag_feedforward", "child_tag_feedforward")


def biaffine_outputs(model: Model, instances: Sequence[Instance]) -> list[dict[str, Any]]:
    """For each instance, which has no gold tree, what `ArcMlpParser.make_output_human_readable` names.

    The heads are those of the model. Where they have several roots, they are those of the best tree with one root, by
    the probabilities of the heads. The root gets the label `root`, and no other word does.
    """
    made: dict[str, torch.Tensor] = {}
    hooks = []
    for name in _PARTS:

        def keep(module: torch.nn.Module, inputs: Any, output: Any, name: str = name) -> None:
            made[name] = output

        hooks.append(getattr(model, name).register_forward_hook(keep))
    try:
        outputs: Any = model.forward_on_instances(list(instances))
    finally:
        for hook in hooks:
            hook.remove()
    parser: Any = model
    arcs = made["arc_attention"].detach()  # (batch, words + 1, words + 1): [word, head]
    lengths = [len(output["predicted_heads"]) for output in outputs]
    found = torch.zeros(arcs.shape[:2], dtype=torch.long, device=arcs.device)
    chances = torch.zeros_like(arcs)
    for row, (output, length) in enumerate(zip(outputs, lengths)):
        inside = arcs[row, 1 : length + 1, : length + 1].clone()
        inside[:, 1:].fill_diagonal_(float("-inf"))
        chances[row, 1 : length + 1, : length + 1] = inside.softmax(-1)
        heads = [int(head) for head in output["predicted_heads"]]
        if heads.count(0) != 1:
            finite = inside.log_softmax(-1).clamp(min=-1e4).cpu().numpy()
            heads = spanning_tree_heads(finite[None], [length])[0].tolist()
        found[row, 1 : length + 1] = torch.tensor(heads, device=arcs.device)
    with torch.no_grad():
        logits = parser._get_head_tags(*(made[name] for name in _PARTS[1:]), found)
    root = model.vocab.get_token_to_index_vocabulary("head_tags").get("root")
    best, labels = with_root_label(logits, found, root).softmax(-1).max(-1)
    head_chances = chances.gather(-1, found.unsqueeze(-1)).squeeze(-1)
    names = model.vocab.get_index_to_token_vocabulary("head_tags")
    answers = []
    for row, length in enumerate(lengths):
        words = slice(1, length + 1)
        answers.append(
            {
                "predicted_heads": found[row, words].tolist(),
                "predicted_dependencies": [names[i] for i in labels[row, words].tolist()],
                "head_probabilities": head_chances[row, words].tolist(),
                "label_probabilities": best[row, words].tolist(),
            }
        )
    return answers


LONGEST = 1000
"""A list of requests takes no longer than a sentence of so many words: the time grows with the cube of the length."""


@Predictor.register("dependency_parser")
class DependencyParserPredictor(SentencePredictor):
    """Parses sentences, by `arc_mlp_parser` or by `biaffine_parser` of allennlp-models.

    A request is a JSON object:

        {"sentence": "The dog barks", "tags": ["DET", "NOUN", "VERB"]}

    `sentence` is a string, which the dataset reader splits, or a list of words. `tags` are those of the words, as the
    training data have them; a model that reads no tags needs none. The answer has `words`, `tags`, `heads` (of each
    word the number of its head, from 1; 0 for the root), `labels`, `head_probabilities` and `label_probabilities`. The
    probability of a head is that among all heads of the word, whether or not they make a tree. The probability of a
    label is that given the head.

    `trace` (optional, true or false) asks for `head_steps`: for each word the step of `neural_easy_first`, from 1, from
    which on its head is the final one. null where the parser has no such encoder.

    Registered as a `Predictor` with name "dependency_parser".

    # Parameters

    model : `Model`
    dataset_reader : `DatasetReader`
        `conllu_trees`.
    output_format : `str`, optional (default = `"json"`)
        "json", an object a line; "conllu", the sentence of the input file with HEAD and DEPREL filled in, all else as
        it was; "svg", a drawing a line.
    max_batch : `int`, optional (default = `1000`)
        At least 1. The limit for the requests of a list. The limit for the words of a list is 50 times this. The sum
        of the cubed lengths of the sentences is limited, too: by that of one sentence of 1000 words, or of `max_tokens`
        if that is more. A sentence with a trace counts once for each step of `neural_easy_first`.
    max_tokens, batch_size, on_error
        See `CheckedPredictor`.
    """

    task = "dependencies"
    gold_fields = ("head_indices", "head_tags")
    fields: ClassVar[tuple[str, ...]] = ("sentence", "tags", "trace")
    reader_type: ClassVar[type[UntaggedReader]] = ConlluTreesReader
    _dataset_reader: ConlluTreesReader

    def __init__(self, model: Model, dataset_reader: DatasetReader, **options: Any) -> None:
        is_ours = isinstance(model, ArcMlpParser)
        if not is_ours and not hasattr(model, "arc_attention"):
            raise ConfigurationError(
                "model: the predictor dependency_parser expects arc_mlp_parser or biaffine_parser, got "
                f"{type(model).__name__}"
            )
        self._reads_tags = getattr(model, "pos_tag_embedding" if is_ours else "_pos_tag_embedding")
        super().__init__(model, dataset_reader, **options)

    def predict(
        self,
        sentence: str | list[str],
        tags: list[str] | None = None,
        trace: bool = False,
    ) -> JsonDict:
        """The answer to one request, from Python."""
        return self.predict_json({"sentence": sentence, "tags": tags, "trace": trace})

    @overrides
    def needed_fields(self) -> list[str]:
        return ["sentence"] if self._reads_tags is None else ["sentence", "tags"]

    @overrides
    def parse(self, request: Any, where: str = "") -> list[Any]:
        needed = self.needed_fields()
        optional = [name for name in self.fields if name not in needed]
        check_fields(request, needed, optional, where)
        split = self._dataset_reader.split
        words = words_of(request, "sentence", self.max_tokens, where, split=split)
        options = requested_options(request, self._model, where)
        if options.trace:
            self._check_trace(len(words), where)
        tags = request.get("tags")
        if tags is None:
            if self._reads_tags is not None:
                raise request_error(
                    f"{where}tags: expected the tags of the words, which this model reads, got none"
                )
            return [words, None, options]
        if not isinstance(tags, list) or not all(isinstance(tag, str) and tag for tag in tags):
            raise request_error(f"{where}tags: expected a list of tags, got {describe(tags)}")
        if len(tags) != len(words):
            raise request_error(
                f"{where}tags: expected {len(words)} tags, one a word, got {len(tags)}"
            )
        try:
            check_labels(tags, "tags")
        except DataFormatError as error:
            raise request_error(f"{where}{error}") from None
        if self._lacks_tags(tags):
            raise request_error(
                f"{where}tags: expected the tags of the words, which this model reads, got {describe(tags)}"
            )
        return [words, tags, options]

    @overrides
    def to_instance(self, request: Any) -> Instance:
        words, tags, options = request
        return with_options(self._dataset_reader.text_to_instance(words, tags), options)

    @overrides
    def _check_size(self, requests: list[Any]) -> None:
        super()._check_size(requests)
        size = sum(
            self._decodings(len(words), options.trace) * len(words) ** 3
            for words, _, options in requests
        )
        if size > self._limit:
            raise request_error(
                "expected cubed lengths of the sentences (with a trace, times their steps) that sum to at most "
                f"{self._limit}, got {size}"
            )

    @property
    def _limit(self) -> int:
        return int(max(self.max_tokens, LONGEST) ** 3)

    def _decodings(self, length: int, trace: bool) -> int:
        """How many trees are sought for a sentence: with a trace, one a step."""
        if not trace or not isinstance(self._model, ArcMlpParser):
            return 1
        last = parts_of(self._model.encoder)[-1]
        if not isinstance(last, NeuralEasyFirst):
            return 1
        return length if last.num_steps == "length" else int(last.num_steps)

    def _check_trace(self, length: int, where: str) -> None:
        """Checks that the trees of all steps take no longer than that of the longest sentence."""
        longest = length
        while self._decodings(longest, True) * longest**3 > self._limit:
            longest -= 1
        if length > longest:
            raise request_error(
                f"{where}trace: expected a sentence of at most {longest} words, got {length}"
            )

    def _lacks_tags(self, tags: list[str]) -> bool:
        """Whether all tags are `_`, the model reads tags, and its training data had none that is `_`."""
        known = self._model.vocab.get_token_to_index_vocabulary("pos")
        return self._reads_tags is not None and set(tags) == {UNKNOWN} and UNKNOWN not in known

    @overrides
    def _outputs_of(self, instances: list[Instance]) -> list[dict[str, Any]]:
        if isinstance(self._model, ArcMlpParser):
            return super()._outputs_of(instances)
        bare = [
            Instance({n: field for n, field in each.fields.items() if n != OPTIONS})
            for each in instances
        ]
        return biaffine_outputs(self._model, bare)

    @overrides
    def to_answer(self, output: dict[str, Any]) -> JsonDict:
        metadata = output["metadata"]
        return {
            **super().to_answer(output),
            "tags": metadata.tags,
            "heads": output["predicted_heads"],
            "labels": output["predicted_dependencies"],
            "head_probabilities": output["head_probabilities"],
            "label_probabilities": output["label_probabilities"],
            **({"head_steps": output.get("head_steps")} if output["options"].trace else {}),
        }

    @overrides
    def _prepared(self, instance: Instance) -> Instance:
        """Raises a `UserError` for a sentence without tags that needs them."""
        metadata: Any = metadata_of(instance)
        if self._lacks_tags(metadata.tags):
            sentence = metadata.sentence
            where = f"{sentence.path}:{sentence.lines[0]}" if sentence else "tags"
            raise UserError(
                f"{where}: expected the tags of the words, which this model reads, in the column "
                f"{self._dataset_reader.column.upper()}, got a sentence without tags"
            )
        return with_options(super()._prepared(instance), options_of(instance))

    @overrides
    def prediction_of(self, outputs: JsonDict, number: int) -> Prediction:
        sentence = outputs.metadata.sentence if isinstance(outputs, Answer) else None
        words = outputs["words"]
        return Prediction(number, words, outputs["tags"], sentence=sentence, answer=outputs)
