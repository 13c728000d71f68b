"""Answers requests with an exported tagger. Needs NumPy, onnxruntime and, for word pieces, tokenizers.

    python runner.py < requests.jsonl > answers.jsonl

`allennlp-nef export` copies this file and the modules of `allennlp_nef` that it imports to its folder. Requests and
answers are the same as in `allennlp-nef predict`, without `attention` and `trace`. The answer to an invalid request is
`{"error": ...}`.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate, islice
from pathlib import Path
from typing import Any

import numpy
from numpy import log, ndarray

from allennlp_nef.data.files import parse_object
from allennlp_nef.data.sentence import Offsets, Sentence
from allennlp_nef.data.word_splitting import split_punctuation
from allennlp_nef.errors import UserError
from allennlp_nef.predictors import answers as tagging
from allennlp_nef.predictors.requests import ANYTHING, check_request
from allennlp_nef.pretrained.title_case import in_title_case
from allennlp_nef.qe import answers as quality
from allennlp_nef.qe.aligner import load_aligner, similarity_matrix
from allennlp_nef.qe.layouts import EOS, without_eos
from allennlp_nef.qe.translated_sentence import TranslatedSentence

BATCH_SIZE = 64
NUM_LINES = 4096  # requests that are sorted by length and tagged together
UNKNOWN = 1
PROVIDERS = ["CPUExecutionProvider"]
UNKNOWN_WORD, PADDING_WORD = "@@UNKNOWN@@", "@@PADDING@@"

UNSUPPORTED = ("attention", "trace")
"""The fields of requests that need a model in torch."""


class Runner:
    """An exported tagger.

    # Parameters

    folder : `str` or `Path`
        The folder that `allennlp-nef export` wrote.
    threads : `int`, optional (default = `1`)
    int8 : `bool`, optional (default = `False`)
        Whether to use the graph with 8-bit weights.
    """

    def __init__(self, folder: str | Path, threads: int = 1, int8: bool = False) -> None:
        import onnxruntime

        folder = Path(folder)
        self.settings = json.loads((folder / "tagger.json").read_text("utf-8"))
        self.indexer = Indexer(self.settings, folder)
        self.rules = self.settings["rules"]
        for rules in filter(None, self.rules.values()):
            name = rules["pieces"]
            shared = name == "tokenizer.json"
            rules["pieces"] = self.indexer.tokenizer if shared else load_pieces(folder, name)
        aligner = folder / "aligner.json.gz"
        self.aligner = load_aligner(str(aligner)) if aligner.exists() else None
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        graph = folder / ("tagger.int8.onnx" if int8 else "tagger.onnx")
        self.session = onnxruntime.InferenceSession(graph, options, providers=PROVIDERS)
        self.input_names = [each.name for each in self.session.get_inputs()]

    def tag(self, requests: Iterable[Any]) -> list[dict[str, Any]]:
        """Returns the answers to requests, in their order. A `UserError` in place of a request becomes its answer."""
        requests = list(requests)
        answers: list[dict[str, Any]] = []
        records: dict[int, Any] = {}
        inputs: dict[int, dict[str, ndarray]] = {}
        for i, request in enumerate(requests):
            has_id = isinstance(request, dict) and request.get("id") is not None
            answers.append({"id": request["id"]} if has_id else {})
            try:
                records[i], given = self._item(request)
            except UserError as error:
                answers[i]["error"] = str(error)
            else:
                inputs |= {i: given} if given else {}
        by_length = sorted(inputs, key=lambda i: max(map(len, inputs[i].values())))
        outputs: dict[int, tuple[Any, ...]] = {}
        for start in range(0, len(by_length), BATCH_SIZE):
            batch = by_length[start : start + BATCH_SIZE]
            outputs.update(zip(batch, self._scores([inputs[i] for i in batch])))
        answer = self._quality_answer if self.settings["qe"] else self._tagger_answer
        for i, record in records.items():
            answers[i].update(answer(requests[i], record, *outputs.get(i, ())))
        return answers

    def _item(self, request: Any) -> tuple[Any, dict[str, ndarray] | None]:
        """Returns the record of a request, and the inputs of the graph; none for an empty translation.

        Raises a `UserError` for an invalid request.
        """
        if isinstance(request, UserError):
            raise request
        qe, limit = self.settings["qe"], self.settings["max_tokens"]
        fields = {**(quality.REQUEST if qe else tagging.REQUEST), "id": ANYTHING}
        fields = {name: check for name, check in fields.items() if name not in UNSUPPORTED}
        check_request(request, fields, quality.REQUIRED if qe else ())
        if not qe:
            sentence = tagging.sentence_of(request, partial(self._split, "sentence"), limit)
            return sentence, self.indexer.inputs({"tokens": sentence.words})
        splits = {name: partial(self._split, name) for name in quality.REQUIRED}
        pair = quality.pair_of(request, splits, qe["tagged"], limit)
        pair.align(self.aligner)
        pair.tokens, others, links = pair.sides(qe["tagged"], qe["eos"])
        if not without_eos(pair.target.words):
            return pair, None
        return pair, self.indexer.inputs({"source": others, "target": pair.tokens}, links)

    def _split(self, name: str, text: str) -> tuple[list[str], Offsets]:
        """Returns the words of a text field, and the start and end of each."""
        if self.rules[name] is None:
            raise UserError(f"{name}: expected a list of words; the tokenizer cannot be exported")
        has_eos = name == "target" and text.split()[-1:] == [EOS]
        end = text.rindex(EOS) if has_eos else len(text)
        offsets = split_punctuation(text[:end], **self.rules[name])
        offsets += [(end, end + len(EOS))] * has_eos
        return [text[start:end] for start, end in offsets], offsets

    def _scores(self, rows: Sequence[dict[str, ndarray]]) -> Iterator[tuple[Any, ...]]:
        """Returns the scores (words, labels) of each sentence, and what else the model predicts; see `settings_of`."""
        given = {name: stack([row[name] for row in rows]) for name in self.input_names}
        scores, *others = self.session.run(None, given)
        return zip(scores.astype(float), *(each.tolist() for each in others))

    def _tagger_answer(
        self, request: dict[str, Any], sentence: Sentence, scores: ndarray
    ) -> dict[str, Any]:
        scores = scores[: len(sentence.words)]
        if self.settings["chain"]:
            chain = [numpy.array(each) for each in self.settings["chain"]]
            best = viterbi(scores, *chain)
            table, following = chain_probabilities(scores, *chain)
            following = following[range(len(best) - 1), best[:-1]]
        else:
            best = scores.argmax(-1)
            table = softmax(scores - log(self.settings["label_weights"]))
            following = table[1:]
        options = (request.get(name) for name in ("min_probability", "label_probabilities"))
        labels = self.settings["labels"]
        return tagging.tagger_answer(sentence, best, table, following, labels, *options)

    def _quality_answer(
        self,
        request: dict[str, Any],
        pair: TranslatedSentence,
        scores: ndarray | None = None,
        *others: Any,
    ) -> dict[str, Any]:
        qe, labels = self.settings["qe"], self.settings["labels"]
        if scores is None:
            table, outputs = quality.missing(pair, labels, qe["outputs"])
        else:
            weighted = scores[: len(pair.tokens)] - log(self.settings["label_weights"])
            table = softmax(weighted / qe["temperature"])
            outputs = dict(zip(qe["outputs"], others))
        threshold = request.get("threshold")
        return quality.quality_answer(
            pair,
            table,
            outputs | qe["thresholds"],
            labels,
            qe["tagged"],
            qe["threshold"] if threshold is None else threshold,
            "model" if threshold is None else "given",
            qe["checks"],
            request.get("label_probabilities"),
        )


class Indexer:
    """Turns sentences into the inputs of the graph.

    # Parameters

    settings : `dict[str, Any]`
        The content of `tagger.json`.
    folder : `Path`
        The folder that contains `tokenizer.json`, for a pretrained encoder.
    """

    def __init__(self, settings: dict[str, Any], folder: Path) -> None:
        self.sides: dict[str, dict[str, Any]] = settings["sides"]
        self.window: dict[str, Any] | None = settings["window"]
        self.tokenizer = load_pieces(folder, "tokenizer.json" if self.window else None)

    def inputs(
        self, sentence: dict[str, list[str]], links: Sequence[tuple[int, int]] = ()
    ) -> dict[str, ndarray]:
        """Returns the inputs of a sentence by name, such as "alignments", or "tokens.affixes.prefixes" of an indexer.

        `sentence` has the words of each side; `links` are pairs (source index, target index).
        """
        inputs: dict[str, Any] = {}
        pieces: dict[str, list[list[int]]] = {}  # the pieces of each word
        for side, indexers in self.sides.items():
            words = [UNKNOWN_WORD if word == PADDING_WORD else word for word in sentence[side]]
            for key, indexer in indexers.items():
                name = f"{side}.{key}"
                if "words" in indexer:
                    texts = map(str.lower, words) if indexer["lowercase"] else words
                    inputs[f"{name}.tokens"] = [
                        indexer["words"].get(text, UNKNOWN) for text in texts
                    ]
                elif "prefixes" in indexer:
                    prefixes = list(enumerate(indexer["prefixes"], 1))
                    suffixes = list(enumerate(indexer["suffixes"], 1))
                    inputs[f"{name}.prefixes"] = [
                        [table.get(word[:n], UNKNOWN) for n, table in prefixes] for word in words
                    ]
                    inputs[f"{name}.suffixes"] = [
                        [table.get(word[-n:], UNKNOWN) for n, table in suffixes] for word in words
                    ]
                else:
                    cased = in_title_case(words) if indexer["title_case"] else words
                    encoded = self.tokenizer.encode_batch(cased, add_special_tokens=False)
                    pieces[name] = [each.ids or [indexer["unknown_piece"]] for each in encoded]
        if self.window is not None:
            inputs |= self._fill_window(pieces, self.window)
        if "source" in sentence:
            inputs["similarity"] = similarity_matrix(sentence["target"], sentence["source"])
            inputs["alignments"] = numpy.zeros_like(inputs["similarity"], dtype=bool)
            for i, j in links:
                inputs["alignments"][j, i] = True
        return {name: numpy.array(value) for name, value in inputs.items()}

    def _fill_window(
        self, pieces: dict[str, list[list[int]]], window: dict[str, Any]
    ) -> dict[str, Any]:
        """Returns the ids and types of all pieces, and the positions of each word's pieces."""
        inputs: dict[str, Any] = {}
        ids: list[int] = []
        types: list[int] = []
        names = list(pieces)
        for side, special, type_ in window["slots"]:
            if side is None:
                ids.append(special)
            else:
                words = pieces[names[side]]
                counts = list(map(len, words))
                starts = accumulate(counts[:-1], initial=len(ids))
                inputs |= {f"{names[side]}.counts": counts, f"{names[side]}.first": list(starts)}
                ids += [id_ for word in words for id_ in word]
            types += [type_] * (len(ids) - len(types))
        if len(ids) > window["max_length"]:
            raise UserError(f"a text has {len(ids)} pieces, more than {window['max_length']}")
        own = {"ids": ids, "types": types, "is_piece": [True] * len(ids)}
        return inputs | {f"{names[-1]}.{name}": row for name, row in own.items()}


def stack(arrays: Sequence[ndarray]) -> ndarray:
    """Stacks arrays of different sizes, with zeros as padding."""
    shape = numpy.max([array.shape for array in arrays], axis=0)
    stacked = numpy.zeros((len(arrays), *shape), dtype=arrays[0].dtype)
    for row, array in zip(stacked, arrays):
        row[tuple(map(slice, array.shape))] = array
    return stacked


def softmax(scores: ndarray) -> ndarray:
    exponentials = numpy.exp(scores - scores.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


def viterbi(scores: ndarray, transitions: ndarray, start: ndarray, end: ndarray) -> ndarray:
    """Returns the best tags of a sentence under a CRF, given the scores (words, labels)."""
    best, pointers = start + scores[0], []
    for emissions in scores[1:]:
        extended = best[:, None] + transitions  # (from, to)
        pointers.append(extended.argmax(0))
        best = extended.max(0) + emissions
    tags = [int((best + end).argmax())]
    for pointer in reversed(pointers):
        tags.append(int(pointer[tags[-1]]))
    return numpy.array(tags[::-1])


def chain_probabilities(
    scores: ndarray, transitions: ndarray, start: ndarray, end: ndarray
) -> tuple[ndarray, ndarray]:
    """Returns the probabilities of a CRF: of each label (words, labels), and of the next label given each one.

    The second is (words - 1, labels, next labels).
    """
    messages = [end]  # log sum exp of what can follow, from the last word back
    for emissions in scores[:0:-1]:
        extended = transitions + emissions + messages[-1]
        highest = extended.max(-1, keepdims=True)
        message = log(numpy.exp(extended - highest).sum(-1)) + highest[:, 0]
        messages.append(message - message.max())
    messages.reverse()
    following = softmax(transitions + (scores + messages)[1:, None])
    table = [softmax(start + scores[0] + messages[0])]
    for each in following:
        table.append(table[-1] @ each)
    return numpy.array(table), following


def load_pieces(folder: Path, name: str | None) -> Any:
    """Returns a tokenizer of word pieces; None without a name."""
    if name is None:
        return None
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(folder / name))


def read_request(line: bytes) -> Any:
    """Returns the request of a line, or the `UserError` that becomes its answer."""
    try:
        return parse_object(line.decode("utf-8-sig"))
    except ValueError as error:
        return UserError(str(error))


def main() -> None:
    parser = argparse.ArgumentParser(description="Tags requests, one JSON object per line.")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--int8", action="store_true", help="use the graph with 8-bit weights")
    args = parser.parse_args()
    runner = Runner(Path(__file__).parent, args.threads, args.int8)
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    requests = (read_request(line) for line in sys.stdin.buffer if line.strip())
    while batch := list(islice(requests, NUM_LINES)):
        for answer in runner.tag(batch):
            print(json.dumps(answer, ensure_ascii=False))


if __name__ == "__main__":
    main()
