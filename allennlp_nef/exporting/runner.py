"""Tags sentences with an exported tagger. Needs NumPy, onnxruntime and, for a pretrained encoder, tokenizers.

    python runner.py < requests.jsonl > answers.jsonl

`allennlp-nef export` copies this file into its folder. A request is a JSON object with `tokens` or `sentence`, or for
quality estimation with `source`, `target` and optionally `alignments`: pairs such as [0, 0], or text such as "0-0 1-1".
Without alignments, all words are unaligned. Sentences are lists of words, or text that is split at whitespace. Requests
are not checked.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, islice
from pathlib import Path
from typing import Any

import numpy
from numpy import ndarray

BATCH_SIZE = 64
NUM_LINES = 4096  # requests that are sorted by length and tagged together
UNKNOWN = 1
PROVIDERS = ["CPUExecutionProvider"]
UNKNOWN_WORD, PADDING_WORD = "@@UNKNOWN@@", "@@PADDING@@"
EOS, GAP = "<EOS>", "<gap>"

Sentence = dict[str, Any]
"""The words of `tokens`; or of `source` and `target`, and `links`, pairs (source index, target index)."""


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
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        graph = folder / ("tagger.int8.onnx" if int8 else "tagger.onnx")
        self.session = onnxruntime.InferenceSession(graph, options, providers=PROVIDERS)
        self.input_names = [each.name for each in self.session.get_inputs()]

    def tag(self, requests: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """The answers to requests, in their order.

        An answer has `tokens` and `tags`; without a CRF `probabilities` of the tags; for quality estimation
        `bad_probabilities` and `sentence_score`. Raises a `ValueError` for a text that does not fit into the window of
        the encoder, and for a string if the tagger has a tokenizer, which is not exported.
        """
        sentences = [parse(request, self.settings["qe"]) for request in requests]
        order = sorted(range(len(sentences)), key=lambda i: max(map(len, sentences[i].values())))
        answers: dict[int, dict[str, Any]] = {}
        for start in range(0, len(order), BATCH_SIZE):
            chosen = order[start : start + BATCH_SIZE]
            answers.update(zip(chosen, self._tag_batch([sentences[i] for i in chosen])))
        return [answers[i] for i in range(len(sentences))]

    def _tag_batch(self, sentences: list[Sentence]) -> Iterator[dict[str, Any]]:
        inputs = self.indexer.inputs(sentences)
        given = {name: inputs[name] for name in self.input_names}
        scores, *sentence_scores = self.session.run(None, given)
        for row, sentence in enumerate(sentences):
            words = sentence.get("tokens") or sentence["target"]
            answer = {"tokens": words, **self._decode(scores[row, : len(words)].astype(float))}
            if sentence_scores:
                answer["sentence_score"] = float(sentence_scores[0][row])
            yield answer

    def _decode(self, scores: ndarray) -> dict[str, Any]:
        """The part of an answer that follows from the scores of the words, (words, labels)."""
        settings, labels, qe = self.settings, self.settings["labels"], self.settings["qe"]
        if settings["chain"]:
            best = viterbi(scores, *map(numpy.array, settings["chain"]))
            return {"tags": [labels[i] for i in best]}
        temperature = qe["temperature"] if qe else 1
        table = softmax((scores - numpy.log(settings["label_weights"])) / temperature)
        if not qe:
            best = scores.argmax(-1)
            probabilities = table[numpy.arange(len(best)), best].tolist()
            return {"tags": [labels[i] for i in best], "probabilities": probabilities}
        bad = table[:, qe["bad_ids"]].sum(-1)
        worst = [labels[qe["bad_ids"][i]] for i in table[:, qe["bad_ids"]].argmax(-1)]
        tags = [tag if p >= qe["threshold"] else qe["ok"] for tag, p in zip(worst, bad)]
        return {
            "tags": tags,
            "bad_probabilities": bad.tolist(),
            "sentence_score": bad.mean().item(),
        }


def parse(request: dict[str, Any], qe: dict[str, Any] | None) -> Sentence:
    """The sentence of a request; for quality estimation, `target` are the words that are tagged."""

    def words_of(name: str) -> list[str]:
        value = request[name]
        if qe and not qe["splits_text"] and isinstance(value, str):
            raise ValueError(f"{name}: expected a list of words; the tokenizer is not exported")
        return value.split() if isinstance(value, str) else value

    if qe is None:
        return {"tokens": words_of("tokens" if "tokens" in request else "sentence")}
    source, target, links = words_of("source"), words_of("target"), request.get("alignments") or []
    target = target[:-1] if target[-1] == EOS else target
    links = [
        tuple(map(int, link.split("-"))) if isinstance(link, str) else tuple(link)
        for link in (links.split() if isinstance(links, str) else links)
    ]
    if qe["tagged"] == "source":
        source, target, links = target, source, [(j, i) for i, j in links]
    elif qe["tagged"] == "target_and_gaps":  # a gap has the links of the words beside it
        target = [word for each in target for word in (GAP, each)] + [GAP]
        links = [(i, k) for i, j in links for k in (2 * j, 2 * j + 1, 2 * j + 2)]
    elif qe["tagged"] == "gaps" or qe["eos"]:
        target = [*target, EOS]
    return {"source": source, "target": target, "links": links}


class Indexer:
    """Turns sentences into the inputs of the graph.

    # Parameters

    settings : `dict[str, Any]`
        The content of `tagger.json`.
    folder : `Path`
        The folder of `tokenizer.json`, for a pretrained encoder.
    """

    def __init__(self, settings: dict[str, Any], folder: Path) -> None:
        self.sides: dict[str, dict[str, Any]] = settings["sides"]
        self.window: dict[str, Any] | None = settings["window"]
        if self.window is not None:
            from tokenizers import Tokenizer

            self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))

    def inputs(self, sentences: Sequence[Sentence]) -> dict[str, ndarray]:
        """The inputs of a batch by name, such as "alignments", or "tokens.affixes.prefixes" of an indexer."""
        rows = [self._inputs_of(sentence) for sentence in sentences]
        return {name: stack([row[name] for row in rows]) for name in rows[0]}

    def _inputs_of(self, sentence: Sentence) -> dict[str, ndarray]:
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
        if "links" in sentence:
            inputs["similarity"] = similarity(sentence["target"], sentence["source"])
            inputs["alignments"] = numpy.zeros_like(inputs["similarity"], dtype=bool)
            for i, j in sentence["links"]:
                inputs["alignments"][j, i] = True
        return {name: numpy.array(value) for name, value in inputs.items()}

    def _fill_window(
        self, pieces: dict[str, list[list[int]]], window: dict[str, Any]
    ) -> dict[str, Any]:
        """The ids and types of all pieces, and where those of each word are."""
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
            raise ValueError(f"a text has {len(ids)} pieces, more than {window['max_length']}")
        own = {"ids": ids, "types": types, "is_piece": [True] * len(ids)}
        return inputs | {f"{names[-1]}.{name}": row for name, row in own.items()}


def similarity(target: Sequence[str], source: Sequence[str]) -> ndarray:
    """How alike words are in lower case, (target, source): 2 for the same word, 1 for the same first four letters."""
    rows = [
        [2 if t == s else int(t[:4] == s[:4]) for s in map(str.lower, source)]
        for t in map(str.lower, target)
    ]
    return numpy.array(rows, dtype=numpy.int8)


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
    """The best tags of a sentence under a CRF, from the scores (words, labels)."""
    best, pointers = start + scores[0], []
    for emissions in scores[1:]:
        extended = best[:, None] + transitions  # (from, to)
        pointers.append(extended.argmax(0))
        best = extended.max(0) + emissions
    tags = [int((best + end).argmax())]
    for pointer in reversed(pointers):
        tags.append(int(pointer[tags[-1]]))
    return tags[::-1]


def main() -> None:
    parser = argparse.ArgumentParser(description="Tags requests, one JSON object per line.")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--int8", action="store_true", help="use the graph with 8-bit weights")
    args = parser.parse_args()
    runner = Runner(Path(__file__).parent, args.threads, args.int8)
    requests = (json.loads(line) for line in sys.stdin if line.strip())
    while batch := list(islice(requests, NUM_LINES)):
        for answer in runner.tag(batch):
            print(json.dumps(answer))


if __name__ == "__main__":
    main()
