"""Tags with an exported model, with NumPy and onnxruntime alone.

`allennlp-nef export` copies this file into its folder, as the package `nef_runner`, with the modules that it imports.
"""

import argparse
import json
import math
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy

from allennlp_nef.data.affixes import CASES, case_of
from allennlp_nef.data.aligners.lexical_aligner import LexicalAligner, Lexicon
from allennlp_nef.data.formats.characters import SplitText, refused_word, split_on_whitespace
from allennlp_nef.data.formats.chunks import are_chunk_tags, chunks_of
from allennlp_nef.data.formats.error_spans import SEVERITIES, join_bad_words
from allennlp_nef.data.formats.wmt_layouts import (
    EOS,
    check_eos,
    split_tokens,
    tagged_side,
    without_eos,
)
from allennlp_nef.data.formats.word_alignments import links_of
from allennlp_nef.data.piece_layouts import PartsRead, PieceLayout, Place
from allennlp_nef.data.word_similarity import similarity_matrix
from allennlp_nef.errors import FileError, UserError, quote, summary_of

MAX_TOKENS = 1000
TOKENIZER_NAME = "tokenizer.json"


class Sentence(NamedTuple):
    """A checked request."""

    target: list[str]
    """The words of the sentence; of the translation, in quality estimation."""
    source: list[str]
    """Empty, but for quality estimation."""
    alignments: list[tuple[int, int]] | None = None
    """Pairs (source index, target index), from 0; None where the request has none."""
    threshold: float | None = None
    id: Any = None
    """That of the request, a JSON value; None where it has none."""
    texts: tuple[SplitText | None, SplitText | None] = None, None
    """Of the target and of the source; None for a list of words."""


def parse_request(request: Any, layout: dict[str, Any] | None, where: str) -> Sentence:
    """Checks a request, decoded from JSON, for the `layout` of `tagger.json`. Raises a `UserError` whose message begins
    with `where`."""
    is_pair = layout is not None
    required = ["source", "target"] if is_pair else ["sentence", "tokens"]
    optional = ["alignments", "threshold", "id"] if is_pair else ["id"]
    needed = "the fields source and target" if is_pair else "the field sentence or tokens"
    if not isinstance(request, dict):
        raise UserError(f"{where}expected an object, got {quote(request)}")
    for name in request:
        if name not in required and name not in optional:
            raise UserError(
                f"{where}expected {needed} (optional: {', '.join(optional)}), got {quote(name)}"
            )
    own_id = request.get("id")
    try:
        json.dumps(own_id, allow_nan=False)  # NaN and Infinity are no JSON, but Python reads them
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where}id: expected a JSON value, got {quote(own_id)}") from error
    if layout is None:
        given = [name for name in required if request.get(name) is not None]
        if len(given) != 1:
            got = "both" if given else "neither"
            raise UserError(f"{where}expected one of the fields sentence and tokens, got {got}")
        value = request[given[0]]
        if not isinstance(value, str if given[0] == "sentence" else list):
            kind = "a string" if given[0] == "sentence" else "a list of words"
            raise UserError(f"{where}{given[0]}: expected {kind}, got {quote(value)}")
        words = _words(request, given[0], where)
        return Sentence(words, [], id=own_id, texts=(_split(request[given[0]]), None))
    source, target = (_words(request, name, where) for name in ("source", "target"))
    threshold = request.get("threshold")
    if threshold is not None and not (type(threshold) is float and 0 < threshold < 1):
        raise UserError(
            f"{where}threshold: expected a number above 0 and below 1, got {quote(threshold)}"
        )
    check_eos(source, target, "gaps" not in layout["tagged"], (f"{where}source", f"{where}target"))
    lengths = len(source), len(without_eos(target))
    links = links_of(request.get("alignments"), *lengths, f"{where}alignments")
    texts = _split(request["target"]), _split(request["source"])
    return Sentence(target, source, links, threshold, own_id, texts)


def _split(value: str | list[str]) -> SplitText | None:
    return split_on_whitespace(value) if isinstance(value, str) else None


def _words(request: dict[str, Any], name: str, where: str) -> list[str]:
    value = request.get(name)
    words = value.split() if isinstance(value, str) else value
    if not isinstance(words, list):
        raise UserError(f"{where}{name}: expected a string or a list of words, got {quote(value)}")
    if not words:
        raise UserError(f"{where}{name}: expected at least one word, got {quote(value)}")
    if len(words) > MAX_TOKENS:
        raise UserError(f"{where}{name}: expected at most {MAX_TOKENS} words, got {len(words)}")
    for word in words:
        if not isinstance(word, str) or not (isinstance(value, str) or _is_word(word, name)):
            raise UserError(f"{where}{name}: expected words without whitespace, got {quote(word)}")
    refused = refused_word(words)
    if refused:
        raise UserError(f"{where}{name}: {refused.reason} at index {refused.position}")
    return words


def _is_word(text: str, field: str) -> bool:
    """As the predictors have it: CoNLL-U has words with no-break spaces in them."""
    return (
        not set(" \t\r\n\f\v").intersection(text) if field == "tokens" else text.split() == [text]
    )


UNKNOWN = 1
MAX_WORDS = 2**18
"""Whose indices are cached."""
PADDING_SYMBOL, UNKNOWN_SYMBOL = "@@PADDING@@", "@@UNKNOWN@@"


class WordIndices:
    """The indices of words that an exported tagger takes: the columns of each embedder, one after the other.

    # Parameters

    embedders : `list[dict[str, Any]]`
        One of the lists of `indices` in `tagger.json`.
    """

    def __init__(self, embedders: list[dict[str, Any]]) -> None:
        self._embedders = embedders
        self._rows: dict[str, list[int]] = {}

    def padded(self, sentences: Sequence[Sequence[str]]) -> numpy.ndarray:
        """Indices (sentences, tokens, columns), 0 in padding."""
        rows = [[self._row(word) for word in words] for words in sentences]
        indices = numpy.zeros((len(rows), max(map(len, rows)), len(rows[0][0])), dtype=numpy.int64)
        for sentence, each in zip(indices, rows):
            sentence[: len(each)] = each
        return indices

    def _row(self, word: str) -> list[int]:
        row = self._rows.get(word)
        if row is None:
            if len(self._rows) > MAX_WORDS:
                self._rows.clear()
            text = UNKNOWN_SYMBOL if word == PADDING_SYMBOL else word
            row = [index for each in self._embedders for index in _indices(each, text)]
            self._rows[word] = row
        return row


def _indices(embedder: dict[str, Any], word: str) -> list[int]:
    if "words" in embedder:
        text = word.lower() if embedder["lowercase"] else word
        return [embedder["words"].get(text, UNKNOWN)]
    prefixes = [
        table.get(word[:length], UNKNOWN) for length, table in enumerate(embedder["prefixes"], 1)
    ]
    suffixes = [
        table.get(word[-length:], UNKNOWN) for length, table in enumerate(embedder["suffixes"], 1)
    ]
    case = [CASES.index(case_of(word)) + 1] if embedder["case"] else []
    return [*prefixes, *suffixes, *case]


class WordPieces:
    """The pieces of words, and the inputs of a pretrained transformer. It needs the package tokenizers.

    # Parameters

    path : `Path`
        The file of the tokenizer.
    settings : `dict[str, Any]`
        The object `pieces` of `tagger.json`.
    """

    def __init__(self, path: Path, settings: dict[str, Any]) -> None:
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            raise UserError(
                f"expected the package tokenizers: pip install tokenizers ({error})"
            ) from error
        try:
            self._tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # its exceptions have no type of their own
            raise UserError(
                f"{path}: expected the tokenizer of an export, got {summary_of(error)}"
            ) from error
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._settings = settings
        self._layout = PieceLayout(settings["special"], settings["types"])
        self._words: dict[str, list[int]] = {}

    def of_words(self, words: Sequence[str]) -> list[list[int]]:
        """The pieces of each word; the unknown piece for a word that has none."""
        if len(self._words) > MAX_WORDS:
            self._words.clear()
        new = [word for word in dict.fromkeys(words) if word not in self._words]
        encoded = self._tokenizer.encode_batch(new, add_special_tokens=False)
        for word, pieces in zip(new, encoded):
            self._words[word] = pieces.ids or [self._settings["unknown"]]
        return [self._words[word] for word in words]

    def inputs(
        self, pairs: Sequence[Sequence[list[list[int]]]]
    ) -> tuple[dict[str, numpy.ndarray], list[PartsRead]]:
        """The inputs of the transformer by their names, and how it reads each pair of sentences.

        The first sentence of a pair has no words where a single sentence is read.
        """
        joined = self._layout.join_all(pairs, self._settings["max_length"])
        shape = len(joined.parts), max(len(pieces) for pieces, _ in joined.parts)
        pieces = numpy.full(shape, self._settings["padding"], dtype=numpy.int64)
        types = numpy.zeros(shape, dtype=numpy.int64)
        for row, (of_part, their_types) in enumerate(joined.parts):
            pieces[row, : len(of_part)], types[row, : len(of_part)] = of_part, their_types
        source_places, places = map(_places, joined.places)
        return {
            "pieces": pieces,
            "piece_mask": _mask([len(of_part) for of_part, _ in joined.parts]),
            "piece_types": types,
            "places": places,
            "source_places": source_places,
        }, joined.readings


def _places(sentences: list[list[Place]]) -> numpy.ndarray:
    """(sentences, words, 3), 0 in padding."""
    places = numpy.zeros((len(sentences), max(map(len, sentences)), 3), dtype=numpy.int64)
    for row, of_words in zip(places, sentences):
        row[: len(of_words)] = numpy.array(of_words).reshape(-1, 3)
    return places


# Probabilities and tags from scores: what `nn.linear_chain` and `modules.calibration` compute.
# Shapes: emissions (batch, tokens, labels), mask (batch, tokens), transitions (labels, labels), start, end (labels,).
# All numbers are float64. A score of at most `FORBIDDEN` forbids a transition.

FORBIDDEN = -690.0
"""Its exponential is still above 0."""


class Marginals(NamedTuple):
    """Probabilities, 0 in padding."""

    words: numpy.ndarray
    """(batch, tokens, labels)."""
    next_words: numpy.ndarray
    """(batch, tokens - 1, labels)."""


class Chain(NamedTuple):
    """A linear chain."""

    transitions: numpy.ndarray
    start: numpy.ndarray
    end: numpy.ndarray

    def viterbi(self, emissions: numpy.ndarray, mask: numpy.ndarray) -> numpy.ndarray:
        """The best tagging (batch, tokens), 0 in padding. Ties go to the lowest label, from the last word."""
        tokens = emissions.shape[1]
        scores = [self.start + emissions[:, 0]]
        for i in range(1, tokens):
            best = (scores[-1][:, :, None] + self.transitions).max(1) + emissions[:, i]
            scores.append(best - best.max(-1, keepdims=True))
        rows = numpy.arange(len(mask))
        last = numpy.stack(scores)[mask.sum(-1) - 1, rows]
        tags = [(last + self.end).argmax(-1)]
        for i in range(tokens - 1, 0, -1):
            before = (scores[i - 1] + self.transitions[:, tags[-1]].T).argmax(-1)
            tags.append(numpy.where(mask[:, i], before, tags[-1]))
        return numpy.where(mask, numpy.stack(tags[::-1], 1), 0)

    def marginals(
        self, emissions: numpy.ndarray, mask: numpy.ndarray, tags: numpy.ndarray
    ) -> Marginals:
        """The probability of each label of each word, and of each label of the next word given this word's tag."""
        weights = numpy.exp(numpy.maximum(self.transitions, FORBIDDEN))
        forward = [self.start + emissions[:, 0]]
        for i in range(1, emissions.shape[1]):
            forward.append(_log_product(forward[-1], weights) + emissions[:, i])
        backward = [numpy.broadcast_to(self.end, forward[0].shape)]
        for i in range(emissions.shape[1] - 1, 0, -1):
            message = _log_product(backward[-1] + emissions[:, i], weights.T)
            backward.append(numpy.where(mask[:, i, None], message, backward[-1]))
        after = numpy.stack(backward[::-1], 1)
        words = softmax(numpy.stack(forward, 1) + after) * mask[..., None]
        following = self.transitions[tags[:, :-1]] + emissions[:, 1:] + after[:, 1:]
        return Marginals(words, softmax(following) * mask[:, 1:, None])


def _log_product(message: numpy.ndarray, weights: numpy.ndarray) -> numpy.ndarray:
    """log(exp(message) @ weights), up to a constant for each sentence."""
    highest = message.max(-1, keepdims=True)
    return numpy.log(numpy.exp(message - highest) @ weights)


def softmax(scores: numpy.ndarray) -> numpy.ndarray:
    """The softmax over the last dimension."""
    exponentials = numpy.exp(scores - scores.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


def calibrated(
    probabilities: numpy.ndarray, temperature: float, biases: numpy.ndarray
) -> numpy.ndarray:
    """softmax(log p / T + b). A probability of 0 stays 0."""
    is_zero = probabilities <= 0
    logits = numpy.log(numpy.where(is_zero, 1, probabilities)) / temperature + biases
    return numpy.where(is_zero, 0, softmax(numpy.where(is_zero, -1e300, logits)))


class Tagging(NamedTuple):
    """What a batch is tagged with."""

    tag_ids: numpy.ndarray
    """(batch, tokens)."""
    marginals: Marginals
    uncalibrated: Marginals
    """The same without the calibration."""


class Head:
    """The tag head of an exported tagger: tags and probabilities from scores.

    # Parameters

    settings : `dict[str, Any]`
        The object `head` of `tagger.json`.
    """

    def __init__(self, settings: dict[str, Any]) -> None:
        self.labels: list[str] = settings["labels"]
        self.bad_ids: list[int] = settings["bad_ids"]
        self.threshold: float | None = settings["threshold"]
        self._decides_by_threshold = settings["decides_by_threshold"]
        self._weights = numpy.array(settings["label_weights"])
        chain = settings["chain"]
        self._chain = chain and Chain(*map(numpy.array, chain))
        self._calibration = settings["calibration"]
        self.base_rate: dict[str, float] | None = settings["base_rate"]
        self._acceptance = settings["acceptance"]
        self.has_chunks = are_chunk_tags(self.labels)
        pairs = [
            [chunks_of((a, b)) if self.has_chunks else [] for b in self.labels] for a in self.labels
        ]
        self._continues = numpy.array(
            [[bool(pair) and pair[0][:2] == (0, 2) for pair in row] for row in pairs]
        )

    def tag(
        self, scores: numpy.ndarray, mask: numpy.ndarray, thresholds: Sequence[float | None]
    ) -> Tagging:
        """Tags and calibrated probabilities of a batch, from scores (batch, tokens, labels)."""
        scores = numpy.where(mask[..., None], scores, 0).astype(numpy.float64)
        if self._chain:
            tags = self._chain.viterbi(scores, mask)
            found = self._chain.marginals(scores, mask, tags)
            marginals = Marginals(*map(self._without_weights, found))
        else:
            tags = self._best_labels(scores)
            words = softmax(scores - numpy.log(self._weights)) * mask[..., None]
            marginals = Marginals(words, words[:, 1:])
        uncalibrated = marginals
        if self._calibration is not None:
            temperature, biases = self._calibration["temperature"], self._calibration["biases"]
            marginals = Marginals(
                *(calibrated(each, temperature, numpy.array(biases)) for each in marginals)
            )
        own = self.threshold if self._decides_by_threshold else None
        limits = numpy.array([own if each is None else each for each in thresholds], float)[:, None]
        if self.bad_ids and not numpy.isnan(limits).all():
            words = marginals.words.astype(numpy.float32)
            bad = numpy.array(self.bad_ids)[words[..., self.bad_ids].argmax(-1)]
            is_bad = words[..., self.bad_ids].sum(-1).astype(numpy.float64) >= limits
            by_threshold = numpy.where(is_bad, bad, self.labels.index("OK"))
            tags = numpy.where(numpy.isnan(limits), tags, by_threshold)
        return Tagging(numpy.where(mask, tags, 0), marginals, uncalibrated)

    def acceptance(self, bad_probabilities: Sequence[float]) -> dict[str, Any]:
        """`error_free_probability` and `accept`, as `Acceptance` has them; empty where the tagger has none."""
        if self._acceptance is None:
            return {}
        scale, bias = self._acceptance["scale"], self._acceptance["bias"]
        bad = numpy.array(bad_probabilities, numpy.float32).astype(numpy.float64)
        with numpy.errstate(divide="ignore", over="ignore"):
            errors = (-numpy.log1p(-bad.clip(max=1))).sum().clip(*self._acceptance["errors"])
            probability = float(1 / (1 + numpy.exp(scale * numpy.log(errors) - bias)))
        is_accepted = probability >= self._acceptance["threshold"]
        return {"error_free_probability": probability, "accept": is_accepted}

    def _best_labels(self, scores: numpy.ndarray) -> numpy.ndarray:
        tags = scores.argmax(-1)
        if len(self.bad_ids) > 1:
            ok, bad = self.labels.index("OK"), scores[..., self.bad_ids]
            total = numpy.log(numpy.exp(bad - bad.max(-1, keepdims=True)).sum(-1)) + bad.max(-1)
            best = numpy.array(self.bad_ids)[bad.argmax(-1)]
            tags = numpy.where(scores[..., ok] > total, ok, best)
        return tags

    def _without_weights(self, marginals: numpy.ndarray) -> numpy.ndarray:
        """As `CrfTagHead` has it: probabilities from the marginals of a chain that was trained with label weights."""
        table = marginals * (1 - marginals + marginals / self._weights)
        return table / numpy.maximum(table.sum(-1, keepdims=True), 1e-300)

    def spans(self, tagging: Tagging, row: int, tokens: list[str]) -> list[dict[str, Any]]:
        """The chunks of a sentence, as `TagHead.chunk_probabilities` has them."""
        ids = tagging.tag_ids[row, : len(tokens)]
        words, next_words = (each[row] for each in tagging.marginals)
        own, places = words[numpy.arange(len(ids)), ids], numpy.arange(len(ids) - 1)
        following = next_words[: len(ids) - 1]
        next_own = following[places, ids[1:]]
        ends = [*numpy.where(self._continues[ids[:-1]], 0, following).sum(-1), 1.0]
        return [
            {
                **chunk._asdict(),
                "text": " ".join(tokens[chunk.start : chunk.end]),
                "probability": min(
                    1.0,
                    float(
                        own[chunk.start]
                        * next_own[chunk.start : chunk.end - 1].prod()
                        * ends[chunk.end - 1]
                    ),
                ),
            }
            for chunk in chunks_of([self.labels[i] for i in ids])
        ]


BATCH_SIZE = 64
WORDS_A_BATCH = 4096
PIECES_A_BATCH = 512
"""Where a transformer reads them. With padding, as the words. More at once are slower on a CPU."""
SETTINGS = ("task", "layout", "indices", "pieces", "head", "sentence_score", "aligner")
"""The fields of `tagger.json`."""


class Prepared(NamedTuple):
    """A sentence as the model takes it."""

    request: Sentence
    tokens: list[str]
    """What is tagged."""
    others: list[str]
    """The words of the other side; none but for quality estimation."""
    links: Sequence[tuple[int, int]]
    """Pairs (index in the other side, token)."""
    alignments: Sequence[tuple[int, int]]
    """Pairs (source index, target index)."""
    alignments_from: str
    sides: list[list[list[int]]]
    """The pieces of the words of the other side and of the tokens, where a transformer reads them."""

    @property
    def size(self) -> int:
        """The tokens, or the pieces."""
        return sum(len(word) for side in self.sides for word in side) or len(self.tokens)


class Scores(NamedTuple):
    """What the model says of a batch."""

    labels: numpy.ndarray
    """The scores: (batch, tokens, labels)."""
    mask: numpy.ndarray
    """(batch, tokens)."""
    sentences: numpy.ndarray | None
    """A part of the logits of the scores of sentences, where the model predicts these: (batch,)."""
    readings: list[PartsRead]
    """Where a transformer reads them, one a sentence."""


class ExportedTagger:
    """A tagger that `allennlp-nef export` wrote. It needs NumPy and onnxruntime.

    # Parameters

    folder : `str`
        What the command wrote.
    threads : `int`, optional (default = `1`)
        At least 1.
    model : `str`, optional (default = `"tagger.onnx"`)
        The file of the model, such as `tagger.int8.onnx`.

    # Raises

    `UserError`, a `ValueError`: a file is missing or damaged, or onnxruntime is not installed.
    """

    def __init__(self, folder: str, threads: int = 1, model: str = "tagger.onnx") -> None:
        try:
            import onnxruntime
        except ImportError as error:
            raise UserError(
                f"expected the package onnxruntime: pip install onnxruntime ({error})"
            ) from error
        if not (Path(folder) / model).is_file():
            raise UserError(
                f"{folder}: expected the file {model}, which allennlp-nef export writes, got none"
            )
        if threads < 1:
            raise UserError(f"threads: expected an integer of at least 1, got {threads}")
        settings = _settings(Path(folder) / "tagger.json")
        self.task: str = settings["task"]
        """"chunks", "tags" or "word_qe"."""
        self.layout: dict[str, Any] | None = settings["layout"]
        """What quality estimation tags."""
        self._head = Head(settings["head"])
        self._indices = {name: WordIndices(each) for name, each in settings["indices"].items()}
        pieces = settings["pieces"]
        self._pieces = pieces and WordPieces(Path(folder) / TOKENIZER_NAME, pieces)
        self._sentence_score = settings["sentence_score"]
        aligner = settings["aligner"]
        self._aligner = aligner and LexicalAligner(
            Lexicon(*aligner["counts"]), aligner["weights"], aligner["threshold"]
        )
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        path = str(Path(folder) / model)
        try:
            self._session = onnxruntime.InferenceSession(
                path, options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # its exceptions have no common type of their own
            raise UserError(
                f"{path}: expected a model of allennlp-nef export, got {summary_of(error)}"
            ) from error
        self._inputs = [each.name for each in self._session.get_inputs()]

    def tag(self, requests: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """The answers to requests, in their order.

        # Parameters

        requests : `Iterable[dict[str, Any]]`
            Objects with `sentence` (a string, split on whitespace) or `tokens` (a list of words); for quality
            estimation with `source`, `target`, and optionally `alignments` and `threshold`. The answer to a request
            with `id` begins with it.

        # Returns

        `list[dict[str, Any]]`
            `tokens`, `tags` and `probabilities`, and for chunks `spans`; for quality estimation those of the predictor
            `word_qe`. All are as the predictor has them.

        # Raises

        `ValueError`: a request that cannot be answered. The message has its number, from 1.
        """
        return self.tag_sentences(
            [
                parse_request(request, self.layout, f"request {number}: ")
                for number, request in enumerate(requests, 1)
            ]
        )

    def tag_sentences(self, sentences: Sequence[Sentence]) -> list[dict[str, Any]]:
        """The answers to requests that have been checked."""
        answers: list[dict[str, Any]] = [{} for _ in sentences]
        prepared = [self._prepared(sentence) for sentence in sentences]
        limit = PIECES_A_BATCH if self._pieces else WORDS_A_BATCH
        for numbers in _batches([sentence.size for sentence in prepared], limit):
            batch = [prepared[number] for number in numbers]
            for number, answer in zip(numbers, self._answers(batch)):
                own_id = sentences[number].id
                answers[number] = answer if own_id is None else {"id": own_id, **answer}
        return answers

    def _prepared(self, sentence: Sentence) -> Prepared:
        tokens, others = sentence.target, sentence.source
        alignments: Sequence[tuple[int, int]] = sentence.alignments or []
        links, alignments_from = alignments, "given"
        if self.layout is not None:
            words = without_eos(sentence.target)
            if sentence.alignments is None:
                alignments = self._aligner.align(others, words) if self._aligner else []
                alignments_from = "computed" if self._aligner else "none"
            translation = [*words, EOS] if self.layout["eos"] else sentence.target
            tagged = self.layout["tagged"]
            tokens, others, links = tagged_side(tagged, others, translation, alignments)
        sides = [self._pieces.of_words(side) for side in (others, tokens)] if self._pieces else []
        return Prepared(sentence, tokens, others, links, alignments, alignments_from, sides)

    def _scores(self, sentences: Sequence[Prepared]) -> Scores:
        mask = _mask([len(sentence.tokens) for sentence in sentences])
        fields = {"mask": mask}
        readings: list[PartsRead] = []
        if self._pieces:
            inputs, readings = self._pieces.inputs([sentence.sides for sentence in sentences])
            fields.update(inputs)
        sides = {
            "words": [sentence.tokens for sentence in sentences],
            "source": [sentence.others for sentence in sentences],
        }
        for name, indices in self._indices.items():
            fields[name] = indices.padded(sides[name])
        if self.layout is not None:
            fields["source_mask"] = _mask(list(map(len, sides["source"])))
            shape = (*mask.shape, fields["source_mask"].shape[1])
            fields["alignments"] = numpy.zeros(shape, dtype=bool)
            fields["similarity"] = numpy.zeros(shape, dtype=numpy.int8)
            for row, sentence in enumerate(sentences):
                for other, token in sentence.links:
                    fields["alignments"][row, token, other] = True
                if "similarity" in self._inputs:
                    table = similarity_matrix(sentence.tokens, sentence.others)
                    size = len(sentence.tokens), len(sentence.others)
                    fields["similarity"][row, : size[0], : size[1]] = table
        given = {name: fields[name] for name in self._inputs}
        labels, *others = self._session.run(None, given)
        return Scores(labels, mask, others[0] if others else None, readings)

    def _answers(self, sentences: list[Prepared]) -> Iterator[dict[str, Any]]:
        scores = self._scores(sentences)
        thresholds = [sentence.request.threshold for sentence in sentences]
        tagging = self._head.tag(scores.labels, scores.mask, thresholds)
        for row, sentence in enumerate(sentences):
            if self.layout is None:
                answer = self._sentence_answer(sentence, tagging, row)
            else:
                answer = self._pair_answer(sentence, tagging, row, scores.sentences)
            if scores.readings and scores.readings[row].windows > 1:
                answer["windows"] = scores.readings[row].windows
            if scores.readings and scores.readings[row].truncated:
                answer["truncated"] = True
            yield answer

    def _sentence_answer(self, sentence: Prepared, tagging: Tagging, row: int) -> dict[str, Any]:
        tokens, head, text = sentence.tokens, self._head, sentence.request.texts[0]
        ids = tagging.tag_ids[row, : len(tokens)]
        probabilities = tagging.marginals.words[row][numpy.arange(len(ids)), ids].tolist()
        tags = [head.labels[i] for i in ids]
        answer = {"tokens": tokens, "tags": tags, "probabilities": probabilities}
        if head.has_chunks:
            answer["spans"] = head.spans(tagging, row, tokens)
        if head.base_rate is not None:
            answer["base_rate"] = head.base_rate
        if text is not None:
            answer["offsets"] = list(map(list, text.offsets))
        return answer

    def _pair_answer(
        self, sentence: Prepared, tagging: Tagging, row: int, logits: numpy.ndarray | None
    ) -> dict[str, Any]:
        head, request, layout = self._head, sentence.request, self.layout or {}
        size = len(sentence.tokens)
        bad = tagging.marginals.words[row, :size][:, head.bad_ids].sum(-1).tolist()
        tags = [head.labels[i] for i in tagging.tag_ids[row, :size]]
        answer = {
            "tokens": sentence.tokens,
            "tags": tags,
            "bad_probabilities": bad,
            "threshold": head.threshold if request.threshold is None else request.threshold,
            "alignments": [list(pair) for pair in sorted(set(sentence.alignments))],
            "alignments_from": sentence.alignments_from,
        }
        tagged = layout["tagged"]
        given = {"target": request.texts[0], "source": request.texts[1]}.get(tagged)
        split = given and split_tokens(sentence.tokens, given.text, given.offsets)
        if tagged == "target":
            joined = split or split_tokens(sentence.tokens, " ".join(request.target))
            worst = SEVERITIES[-1]
            severities = [
                None if tag == "OK" else tag if tag in SEVERITIES else worst for tag in tags
            ]
            answer["spans"] = [span._asdict() for span in join_bad_words(joined, severities, bad)]
        if head.base_rate is not None:
            rates = head.base_rate.items()
            answer["base_rate"] = sum(rate for label, rate in rates if label != "OK")
        share = sum(bad) / size
        answer["sentence_score"] = share
        if logits is not None:
            uncalibrated = tagging.uncalibrated.words[row, :size][:, head.bad_ids].sum(-1).mean()
            min_share = self._sentence_score["min_share"]
            own_share = min(max(float(uncalibrated), min_share), 1 - min_share)
            logit = self._sentence_score["scale"] * math.log(own_share / (1 - own_share))
            answer["sentence_score"] = 1 / (1 + math.exp(-logit - float(logits[row])))
            answer["expected_bad_share"] = share
        answer.update(head.acceptance(bad))
        if split is not None:
            answer["offsets"] = list(map(list, split.offsets))
        if tagged != "target":
            answer["tagged"] = tagged
        return answer


def _settings(path: Path) -> dict[str, Any]:
    """The content of `tagger.json`."""
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
        given: dict[str, Any] = settings if isinstance(settings, dict) else {}
    except OSError as error:
        raise UserError(f"{path}: expected a file, got {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UserError(
            f"{path}: expected what allennlp-nef export writes, got {summary_of(error)}"
        ) from error
    missing = [name for name in SETTINGS if name not in given]
    if missing:
        raise UserError(
            f"{path}: expected what allennlp-nef export writes, got no {', '.join(missing)}"
        )
    return given


def _mask(lengths: list[int]) -> numpy.ndarray:
    return numpy.arange(max(lengths)) < numpy.array(lengths)[:, None]


def _batches(lengths: list[int], limit: int) -> Iterator[list[int]]:
    """The numbers of sentences of similar size."""
    batch: list[int] = []
    for number in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) == BATCH_SIZE or lengths[number] * (len(batch) + 1) > limit):
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


LINES = 4096
"""So many are tagged at once."""


def main(folder: Path) -> int:
    """Tags requests with an exported tagger: `python FOLDER < requests.jsonl > answers.jsonl`.

    It returns the exit status: 2 for a request that cannot be answered.
    """
    description = (main.__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python FOLDER", description=description)
    parser.add_argument(
        "input", nargs="?", help="JSON objects, one a line (default: -, standard input)"
    )
    parser.add_argument("--threads", type=int, default=1, help="at least 1 (default: 1)")
    parser.add_argument("--int8", action="store_true", help="use the quantized model")
    args = parser.parse_args()
    path = None if args.input == "-" else args.input
    model = "tagger.int8.onnx" if args.int8 else "tagger.onnx"
    try:
        tagger = ExportedTagger(str(folder), args.threads, model)
        with _opened(path) as lines:
            requests = _requests(lines, path or "standard input", tagger.layout)
            while True:
                sentences = list(islice(requests, LINES))
                if not sentences:
                    return 0
                for answer in tagger.tag_sentences(sentences):
                    sys.stdout.write(json.dumps(answer) + "\n")
                sys.stdout.flush()
    except BrokenPipeError:  # the reader of the answers, such as `head`, has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_status


def _opened(path: Any) -> Any:
    if not path:
        return sys.stdin.buffer
    try:
        return open(path, "rb")
    except OSError as error:
        raise FileError(f"{path}: expected a file, got {error.strerror}") from error


def _requests(
    lines: Iterable[bytes], name: str, layout: dict[str, Any] | None
) -> Iterator[Sentence]:
    for number, line in enumerate(lines, 1):
        where = f"{name}:{number}: "
        try:
            text = line.decode("utf-8-sig")
            request = json.loads(text) if text.strip() else None
        except (ValueError, RecursionError) as error:
            start = line[:80].decode("utf-8", "backslashreplace").strip()
            raise UserError(
                f"{where}expected a JSON object on one line, got {quote(start)} ({summary_of(error)})"
            ) from error
        if text.strip():
            yield parse_request(request, layout, where)
