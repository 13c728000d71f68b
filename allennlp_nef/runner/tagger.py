import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy

from allennlp_nef.data.aligners.lexical_aligner import LexicalAligner, Lexicon
from allennlp_nef.data.word_similarity import similarity_matrix
from allennlp_nef.errors import UserError, summary_of
from allennlp_nef.runner.head import Head, Tagging
from allennlp_nef.runner.requests import Sentence, parse_request, without_eos
from allennlp_nef.runner.words import WordIndices

BATCH_SIZE = 64
WORDS_A_BATCH = 4096
"""With padding."""
SETTINGS = ("task", "indices", "head", "aligner")
"""The fields of `tagger.json`."""


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
        self._head = Head(settings["head"])
        self._indices = {name: WordIndices(each) for name, each in settings["indices"].items()}
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
            `tokens`, `tags` and `probabilities`, and for chunks `spans`; for quality estimation `tokens`, `tags`,
            `bad_probabilities`, `threshold`, `sentence_score`, `alignments` and `alignments_from`. They are those of
            the predictor.

        # Raises

        `ValueError`: a request that cannot be answered. The message has its number, from 1.
        """
        is_pair = self.task == "word_qe"
        return self.tag_sentences(
            [
                parse_request(request, is_pair, f"request {number}: ")
                for number, request in enumerate(requests, 1)
            ]
        )

    def tag_sentences(self, sentences: Sequence[Sentence]) -> list[dict[str, Any]]:
        """The answers to requests that have been checked."""
        answers: list[dict[str, Any]] = [{} for _ in sentences]
        for numbers in _batches([len(each.tokens) for each in sentences]):
            batch = [self._aligned(sentences[number]) for number in numbers]
            for number, answer in zip(numbers, self._answers(batch)):
                own_id = sentences[number].id
                answers[number] = answer if own_id is None else {"id": own_id, **answer}
        return answers

    def scores(self, sentences: Sequence[Sentence]) -> tuple[numpy.ndarray, numpy.ndarray]:
        """The scores (batch, tokens, labels) of the model, and the mask (batch, tokens)."""
        words = self._indices["words"].padded([each.tokens for each in sentences])
        mask = _mask([len(each.tokens) for each in sentences])
        fields = {"words": words, "mask": mask}
        if self.task == "word_qe":
            sources = [each.source for each in sentences]
            fields["source"] = self._indices["source"].padded(sources)
            fields["source_mask"] = _mask(list(map(len, sources)))
            shape = (*mask.shape, fields["source"].shape[1])
            fields["alignments"] = numpy.zeros(shape, dtype=bool)
            fields["similarity"] = numpy.zeros(shape, dtype=numpy.int8)
            for row, each in enumerate(sentences):
                for source, target in each.alignments or ():
                    fields["alignments"][row, target, source] = True
                if "similarity" in self._inputs:
                    table = similarity_matrix(each.tokens, each.source)
                    fields["similarity"][row, : len(each.tokens), : len(each.source)] = table
        given = {name: fields[name] for name in self._inputs}
        return self._session.run(None, given)[0], mask

    def _aligned(self, sentence: Sentence) -> Sentence:
        if self.task != "word_qe" or sentence.alignments is not None:
            return sentence
        if self._aligner is None:
            return sentence._replace(alignments=[], alignments_from="none")
        links = self._aligner.align(sentence.source, without_eos(sentence.tokens))
        return sentence._replace(alignments=links, alignments_from="computed")

    def _answers(self, sentences: list[Sentence]) -> Iterator[dict[str, Any]]:
        scores, mask = self.scores(sentences)
        tagging = self._head.tag(scores, mask, [each.threshold for each in sentences])
        answer = self._pair_answer if self.task == "word_qe" else self._sentence_answer
        return (answer(each, tagging, row) for row, each in enumerate(sentences))

    def _sentence_answer(self, sentence: Sentence, tagging: Tagging, row: int) -> dict[str, Any]:
        ids = tagging.tag_ids[row, : len(sentence.tokens)]
        probabilities = tagging.marginals.words[row][numpy.arange(len(ids)), ids].tolist()
        tags = [self._head.labels[i] for i in ids]
        answer = {"tokens": sentence.tokens, "tags": tags, "probabilities": probabilities}
        if self._head.has_chunks:
            answer["spans"] = self._head.spans(tagging, row, sentence.tokens)
        return answer

    def _pair_answer(self, sentence: Sentence, tagging: Tagging, row: int) -> dict[str, Any]:
        size, head = len(sentence.tokens), self._head
        bad = tagging.marginals.words[row, :size][:, head.bad_ids].sum(-1).tolist()
        return {
            "tokens": sentence.tokens,
            "tags": [head.labels[i] for i in tagging.tag_ids[row, :size]],
            "bad_probabilities": bad,
            "threshold": head.threshold if sentence.threshold is None else sentence.threshold,
            "sentence_score": sum(bad) / size,
            "alignments": [list(pair) for pair in sorted(set(sentence.alignments or ()))],
            "alignments_from": sentence.alignments_from,
        }


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


def _batches(lengths: list[int]) -> Iterator[list[int]]:
    """The numbers of sentences of like length."""
    batch: list[int] = []
    for number in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (
            len(batch) == BATCH_SIZE or lengths[number] * (len(batch) + 1) > WORDS_A_BATCH
        ):
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch
