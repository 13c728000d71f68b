"""Answers requests with an exported tagger. Needs NumPy, onnxruntime and, for word pieces, tokenizers.

    python runner.py < requests.jsonl > answers.jsonl

`allennlp-nef export` copies this file and the modules of `allennlp_nef` that it imports to its folder. Requests and
answers are the same as in `allennlp-nef predict`, except for `attention`, `trace`, `label_probabilities` and
`min_probability`. The answer to an invalid request is `{"error": ...}`.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, islice
from pathlib import Path
from typing import Any

import numpy
from numpy import log, ndarray

from allennlp_nef.data.chunks import chunks_of
from allennlp_nef.data.files import find_words, parse_object
from allennlp_nef.data.punctuation import split_punctuation
from allennlp_nef.errors import UserError
from allennlp_nef.predictors.requests import (
    ANYTHING,
    PROBABILITY,
    TEXT,
    Check,
    check_request,
    check_words,
)
from allennlp_nef.qe import layouts
from allennlp_nef.qe.aligner import load_aligner, similarity_matrix
from allennlp_nef.qe.layouts import EOS, OK, parse_links, tagged_side, without_eos
from allennlp_nef.qe.spans import join_bad_words, token_offsets

BATCH_SIZE = 64
NUM_LINES = 4096  # requests that are sorted by length and tagged together
UNKNOWN = 1
PROVIDERS = ["CPUExecutionProvider"]
UNKNOWN_WORD, PADDING_WORD = "@@UNKNOWN@@", "@@PADDING@@"

LINKS: Check = (lambda value: isinstance(value, str | list), "a string or a list")
SENTENCE_FIELDS: dict[str, Check] = {
    "id": ANYTHING,
    "sentence": (lambda value: isinstance(value, str), "a string"),
    "tokens": (lambda value: isinstance(value, list), "a list of words"),
}
PAIR_FIELDS: dict[str, Check] = {
    "id": ANYTHING,
    **{"source": TEXT, "target": TEXT, "alignments": LINKS, "threshold": PROBABILITY},
}
Sentence = dict[str, Any]
"""A checked request: `words` are tagged, `sides` has the words of the inputs, `links` are for the pair."""


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
        answers: list[dict[str, Any]] = []
        sentences: dict[int, Sentence] = {}
        for i, request in enumerate(requests):
            has_id = isinstance(request, dict) and request.get("id") is not None
            answers.append({"id": request["id"]} if has_id else {})
            try:
                sentences[i] = self._sentence(request)
            except UserError as error:
                answers[i]["error"] = str(error)
        full = [i for i, sentence in sentences.items() if "inputs" in sentence]
        full.sort(key=lambda i: max(map(len, sentences[i]["sides"].values())))
        for start in range(0, len(full), BATCH_SIZE):
            batch = full[start : start + BATCH_SIZE]
            for i, output in zip(batch, self._scores([sentences[i]["inputs"] for i in batch])):
                sentences[i]["output"] = output
        for i, sentence in sentences.items():
            answer = self._pair_answer if self.settings["qe"] else self._sentence_answer
            answers[i].update(answer(sentence, *sentence.get("output", ())))
        return answers

    def _scores(self, rows: Sequence[dict[str, ndarray]]) -> Iterator[tuple[Any, ...]]:
        """Returns the scores (words, labels) of each sentence, and what else the model predicts; see `settings_of`."""
        given = {name: stack([row[name] for row in rows]) for name in self.input_names}
        scores, *others = self.session.run(None, given)
        return zip(scores.astype(float), *(each.tolist() for each in others))

    def _sentence(self, request: Any) -> Sentence:
        """Checks a request and turns it into inputs. Raises a `UserError`."""
        if isinstance(request, UserError):
            raise request
        limit, qe = self.settings["max_tokens"], self.settings["qe"]
        if not qe:
            check_request(request, SENTENCE_FIELDS, ())
            if (request.get("sentence") is None) == (request.get("tokens") is None):
                raise UserError("expected either sentence or tokens")
            name = "sentence" if request.get("tokens") is None else "tokens"
            words, offsets = self._words(request, name)
            check_words(name, words, limit)
            sides = {"tokens": words}
            sentence: Sentence = {"words": words, "sides": sides, "offsets": offsets}
            return {
                **sentence,
                "text": request.get("sentence"),
                "inputs": self.indexer.inputs(sides),
            }
        check_request(request, PAIR_FIELDS, ("source", "target"))
        (source, source_offsets), (target, offsets) = (
            self._words(request, name) for name in ("source", "target")
        )
        check_words("source", source, limit)
        if target:
            check_words("target", target, limit)
        tagged, words = qe["tagged"], without_eos(target)
        is_empty = not words and tagged != "source"
        if is_empty:
            target, offsets = [], offsets and []
        else:
            layouts.check_words(source, target, tagged, {"source": "source", "target": "target"})
        if request.get("alignments") is not None:
            links_from = "given"
            links = parse_links(request["alignments"], len(source), len(words), "alignments")
        else:
            links_from = "computed" if self.aligner else "none"
            links = self.aligner.align(source, words) if self.aligner else []
        translation = [*words, EOS] if qe["eos"] else target
        tokens, others, token_links = tagged_side(tagged, source, translation, links)
        sentence = {"words": tokens, "source": source, "links": links, "links_from": links_from}
        sentence |= {
            "sides": {"source": others, "target": tokens},
            "threshold": request.get("threshold"),
        }
        offsets = source_offsets if tagged == "source" else offsets
        if "gaps" not in tagged and offsets is not None:
            text = request["source" if tagged == "source" else "target"]
            sentence |= {"text": text, "offsets": offsets}
        if not is_empty:
            sentence["inputs"] = self.indexer.inputs(sentence["sides"], token_links)
        return sentence

    def _words(self, request: dict[str, Any], name: str) -> tuple[list[str], Any]:
        """Returns the words of a field and, for a string, the start and end of each."""
        text = request[name]
        if isinstance(text, list):
            return text, None
        if self.rules[name] is None:
            raise UserError(f"{name}: expected a list of words; the tokenizer cannot be exported")
        has_eos = name == "target" and text.split()[-1:] == [EOS]
        end = text.rindex(EOS) if has_eos else len(text)
        offsets = split_punctuation(text[:end], **self.rules[name])
        offsets += [(end, end + len(EOS))] * has_eos
        return [text[start:end] for start, end in offsets], offsets

    def _sentence_answer(self, sentence: Sentence, scores: ndarray) -> dict[str, Any]:
        settings, words = self.settings, sentence["words"]
        scores = scores[: len(words)]
        if settings["chain"]:
            chain = [numpy.array(each) for each in settings["chain"]]
            best = viterbi(scores, *chain)
            table, following = chain_probabilities(scores, *chain)
        else:
            best = scores.argmax(-1).tolist()
            table = softmax(scores - log(settings["label_weights"]))
            following = numpy.broadcast_to(table[1:, None], (len(words) - 1, *[table.shape[1]] * 2))
        probabilities = table[range(len(words)), best]
        tags = [settings["labels"][i] for i in best]
        answer = {"tokens": words, "tags": tags, "probabilities": probabilities.tolist()}
        offsets = sentence["offsets"]
        if settings["continues"]:
            after = following[range(len(words) - 1), best[:-1]]  # the next label given this one
            then = after[range(len(words) - 1), best[1:]]
            ends = 1 - (after * numpy.array(settings["continues"])[best[:-1]]).sum(-1)
            ends = numpy.append(ends, 1).clip(0, 1)  # the next word does not continue the chunk
            text = " ".join(words) if offsets is None else sentence["text"]
            places = offsets or find_words(text, words)
            answer["spans"] = [
                {
                    "start": places[start][0],
                    "end": places[end - 1][1],
                    "type": kind,
                    "text": text[places[start][0] : places[end - 1][1]],
                    "probability": min(
                        1.0, probabilities[start] * then[start : end - 1].prod() * ends[end - 1]
                    ),
                }
                for start, end, kind in chunks_of(tags)
            ]
        if offsets is not None:
            answer["offsets"] = [list(span) for span in offsets]
        return answer

    def _pair_answer(
        self, sentence: Sentence, scores: ndarray | None = None, *others: Any
    ) -> dict[str, Any]:
        """Returns the answer to a pair. Without scores, the translation is empty: everything is missing."""
        qe, labels, words = self.settings["qe"], self.settings["labels"], sentence["words"]
        predicted: dict[str, Any]
        if scores is None:
            table = numpy.eye(len(labels))[[qe["bad_ids"][-1]] * len(words)]
            predicted = {"hter": 1.0, "source_bad_probabilities": [1.0] * len(sentence["source"])}
        else:
            weighted = scores[: len(words)] - log(self.settings["label_weights"])
            table = softmax(weighted / qe["temperature"])
            predicted = dict(zip(qe["outputs"], others))
        of_bad = table[:, qe["bad_ids"]]
        bad = of_bad.sum(-1).clip(max=1).tolist()
        threshold = qe["threshold"] if sentence["threshold"] is None else sentence["threshold"]
        worst = [labels[qe["bad_ids"][i]] for i in of_bad.argmax(-1)]
        tags = [tag if p >= threshold else OK for tag, p in zip(worst, bad)]
        answer = {
            "source": sentence["source"],
            "tokens": words,
            "tags": tags,
            "bad_probabilities": bad,
            "threshold": threshold,
            "threshold_from": "model" if sentence["threshold"] is None else "given",
            "alignments": [list(link) for link in sorted(set(sentence["links"]))],
            "alignments_from": sentence["links_from"],
        }
        text, offsets = token_offsets(sentence)
        if qe["tagged"] == "target":
            spans = join_bad_words(text, offsets, tags, bad)
            answer["spans"] = [span.to_json() for span in spans]
        else:
            answer["tagged"] = qe["tagged"]
        if "hter" in qe["outputs"]:
            answer["hter"] = predicted["hter"]
        answer["expected_bad_share"] = sum(bad) / len(bad) if bad else 1.0
        if qe["tagged"] != "source" and "source_bad_probabilities" in qe["outputs"]:
            of_source = predicted["source_bad_probabilities"][: len(sentence["source"])]
            answer["source_bad_probabilities"] = of_source
        if sentence.get("offsets") is not None:
            answer["offsets"] = [list(span) for span in offsets]
        return answer


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
                    encoded = self.tokenizer.encode_batch(words, add_special_tokens=False)
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


def viterbi(scores: ndarray, transitions: ndarray, start: ndarray, end: ndarray) -> list[int]:
    """Returns the best tags of a sentence under a CRF, given the scores (words, labels)."""
    best, pointers = start + scores[0], []
    for emissions in scores[1:]:
        extended = best[:, None] + transitions  # (from, to)
        pointers.append(extended.argmax(0))
        best = extended.max(0) + emissions
    tags = [int((best + end).argmax())]
    for pointer in reversed(pointers):
        tags.append(int(pointer[tags[-1]]))
    return tags[::-1]


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


def read_request(line: str) -> Any:
    """Returns the request of a line, or the `UserError` that becomes its answer."""
    try:
        return parse_object(line)
    except ValueError as error:
        return UserError(str(error))


def main() -> None:
    parser = argparse.ArgumentParser(description="Tags requests, one JSON object per line.")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--int8", action="store_true", help="use the graph with 8-bit weights")
    args = parser.parse_args()
    runner = Runner(Path(__file__).parent, args.threads, args.int8)
    sys.stdin.reconfigure(encoding="utf-8-sig")  # type: ignore[union-attr]
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    requests = (read_request(line) for line in sys.stdin if line.strip())
    while batch := list(islice(requests, NUM_LINES)):
        for answer in runner.tag(batch):
            print(json.dumps(answer, ensure_ascii=False))


if __name__ == "__main__":
    main()
