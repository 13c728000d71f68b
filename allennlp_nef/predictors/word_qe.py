import json
from typing import Any, Dict, Iterator, List, Union

from allennlp.common.checks import ConfigurationError
from allennlp.common.util import JsonDict, lazy_groups_of
from allennlp.data import DatasetReader, Instance
from allennlp.models import Model
from allennlp.predictors import Predictor
from overrides import overrides

from allennlp_nef.data.dataset_readers import WmtWordQeReader
from allennlp_nef.data.formats.wmt_word_qe import format_submission, format_tags
from allennlp_nef.predictors.errors import describe, request_error
from allennlp_nef.predictors.word_qe_request import WordQeRequest, parse_request

OUTPUT_FORMATS = ("json", "tags", "tsv", "text")


@Predictor.register("word_qe")
class WordQePredictor(Predictor):
    """Word-level quality estimation: is each word of a translation OK or BAD?

    A request is a JSON object:

        {"source": "the house", "target": "das Haus", "alignments": "0-0 1-1", "attention": true}

    `source` and `target` are strings, split on whitespace, or lists of words; `alignments` (optional) a string of
    `i-j`, source word i with target word j, from 0, or a list of such strings or of pairs; `attention` (optional) asks
    for the attention of each step. The answer has `tokens` (the words of the target), `tags` (OK or BAD, one a word),
    `bad_probabilities` (the probability of BAD, one a word), and, if asked for, `attention` (steps x words; `null`
    where the model has no steps). A request that cannot be answered raises a `ValueError` that names the field, and
    in a list of requests the item, from 0; `allennlp serve` answers it with status 400.

    Registered as a `Predictor` with name "word_qe".

    # Parameters

    model : `Model`
        `nef_tagger`.
    dataset_reader : `DatasetReader`
        `wmt_word_qe`.
    output_format : `str`, optional (default = `"json"`)
        What `allennlp predict` writes: "json", an object a line; "tags", a line of tags a sentence (the WMT `.tags`
        format); "tsv", the WMT submission format (method, sentence, word index, word, tag; from 0); "text", the
        words, `/BAD` behind the bad ones. Lone surrogates, which UTF-8 has no bytes for, are written as escapes.
    method : `str`, optional (default = `"allennlp_nef"`)
        The method's name in the submission format.
    attention : `bool`, optional (default = `False`)
        Whether to answer every request with the attention, asked for or not.
    max_tokens : `int`, optional (default = `1000`)
        At least 1. Requests with more words than this on a side are refused. (What a dataset reader reads is not
        limited.)
    batch_size : `int`, optional (default = `64`)
        At least 1. How many requests of a list go through the model at once.
    """

    _dataset_reader: WmtWordQeReader

    def __init__(
        self,
        model: Model,
        dataset_reader: DatasetReader,
        output_format: str = "json",
        method: str = "allennlp_nef",
        attention: bool = False,
        max_tokens: int = 1000,
        batch_size: int = 64,
    ) -> None:
        super().__init__(model, dataset_reader)
        if not isinstance(dataset_reader, WmtWordQeReader):
            raise ConfigurationError(
                "dataset_reader: the predictor word_qe expects wmt_word_qe, got "
                f"{type(dataset_reader).__name__}"
            )
        if output_format not in OUTPUT_FORMATS:
            raise ConfigurationError(
                f"output_format: expected one of {', '.join(OUTPUT_FORMATS)}, got {output_format!r}"
            )
        if (
            not isinstance(method, str)
            or not method
            or len(method.splitlines()) != 1
            or "\t" in method
        ):
            raise ConfigurationError(
                f"method: expected text without tabs and line ends, got {method!r}"
            )
        for name, value in (("max_tokens", max_tokens), ("batch_size", batch_size)):
            if type(value) is not int or value < 1:
                raise ConfigurationError(
                    f"{name}: expected an integer of at least 1, got {value!r}"
                )
        if not isinstance(attention, bool):
            raise ConfigurationError(f"attention: expected true or false, got {attention!r}")
        self.output_format = output_format
        self.method = method
        self.attention = attention
        self.max_tokens = max_tokens
        self.batch_size = batch_size
        self._requests_loaded = 0
        self._sentences_dumped = 0

    def predict(
        self,
        source: Union[str, List[str]],
        target: Union[str, List[str]],
        alignments: Union[None, str, List[Any]] = None,
        attention: bool = False,
    ) -> JsonDict:
        """The answer to one request, from Python."""
        request = {"source": source, "target": target, "alignments": alignments}
        return self.predict_json({**request, "attention": attention})

    @overrides
    def load_line(self, line: str) -> JsonDict:
        """The request of a line, checked here since this is where its number is known (blank lines are not counted)."""
        self._requests_loaded += 1
        where = f"request {self._requests_loaded}: "
        try:
            request = json.loads(line.lstrip("\ufeff"))
        except (ValueError, RecursionError) as error:
            raise request_error(
                f"{where}expected a JSON object on one line, got {describe(line.strip())} ({error})"
            ) from error
        parse_request(request, self.max_tokens, where)
        return request

    @overrides
    def dump_line(self, outputs: JsonDict) -> str:
        tokens, tags = outputs["tokens"], outputs["tags"]
        sentence = self._sentences_dumped
        self._sentences_dumped += 1
        if self.output_format == "json":
            return json.dumps(outputs) + "\n"
        if self.output_format == "tags":
            text = format_tags(tags)
        elif self.output_format == "tsv":
            text = format_submission(self.method, sentence, tokens, tags)
        else:
            words = [f"{word}/BAD" if tag == "BAD" else word for word, tag in zip(tokens, tags)]
            text = " ".join(words)
        return text.encode("utf-8", "backslashreplace").decode("utf-8") + "\n"

    @overrides
    def predict_batch_json(self, inputs: List[JsonDict]) -> List[JsonDict]:
        if not isinstance(inputs, list):
            raise request_error(f"expected a list of objects, got {describe(inputs)}")
        requests = [
            parse_request(item, self.max_tokens, f"item {index}: ")
            for index, item in enumerate(inputs)
        ]
        return self.predict_batch_instance([self._instance(request) for request in requests])

    @overrides
    def predict_instance(self, instance: Instance) -> JsonDict:
        return self.predict_batch_instance([instance])[0]

    @overrides
    def predict_batch_instance(self, instances: List[Instance]) -> List[JsonDict]:
        return list(self._answers(instances))

    @overrides
    def _json_to_instance(self, json_dict: JsonDict) -> Instance:
        return self._instance(parse_request(json_dict, self.max_tokens))

    def _instance(self, request: WordQeRequest) -> Instance:
        return self._dataset_reader.text_to_instance(
            request.source, request.target, request.alignments, keep_trace=request.attention
        )

    def _answers(self, instances: List[Instance]) -> Iterator[JsonDict]:
        for group in lazy_groups_of(instances, self.batch_size):
            for instance in group:
                self._dataset_reader.apply_token_indexers(instance)
                if self.attention:
                    instance.fields["metadata"].metadata.keep_trace = True  # type: ignore[attr-defined]
            for output in self._model.forward_on_instances(group):
                yield _answer(output)


def _answer(output: Dict[str, Any]) -> JsonDict:
    answer = {
        "tokens": output["tokens"],
        "tags": output["tags"],
        # Without the label: no word of the training data was BAD.
        "bad_probabilities": [word.get("BAD", 0.0) for word in output["probabilities"]],
    }
    if output["metadata"].keep_trace:
        answer["attention"] = output.get("attention")
    return answer
