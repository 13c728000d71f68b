"""The uncalibrated probabilities of the words of data, from a model."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy
import torch
from allennlp.common import Tqdm
from allennlp.data import Batch, Instance
from allennlp.nn.util import move_to_device

from allennlp_nef.data.formats.chunks import chunks_of
from allennlp_nef.data.metadata import TaggingMetadata
from allennlp_nef.errors import DataFormatError, UserError
from allennlp_nef.modules.calibration import Calibration
from allennlp_nef.modules.tag_heads import TagHead
from allennlp_nef.modules.tag_heads.tag_head import ChainProbabilities
from allennlp_nef.predictors.batches import batches_of, metadata_of
from allennlp_nef.predictors.tagging_predictor import TaggingPredictor

MIN_WORDS = 100
"""With gold tags, for a calibration."""
_SENTENCES = 256  # whose chunks are scored at once


class Sentence(NamedTuple):
    """What a model, without its calibration, says of a sentence."""

    words: numpy.ndarray
    """The probability of each label: (words, labels)."""
    next_words: numpy.ndarray | None
    """Where tags are those of chunks, the `next_words` of `ChainProbabilities`: (words - 1, labels)."""
    tags: numpy.ndarray
    """The indices of the decoded tags: (words,)."""
    metadata: TaggingMetadata

    @property
    def gold(self) -> list[str] | None:
        """The gold tags, where known."""
        return self.metadata.tags


def sentences_of(
    predictor: TaggingPredictor, instances: Sequence[Instance], path: str, batch_size: int
) -> list[Sentence]:
    """Puts instances through the model, with a progress bar. Raises `UserError` for probabilities that are NaN."""
    model = predictor._model
    head = model.tag_head
    device = model._get_prediction_device()
    sentences: list[Sentence] = []
    for instance in instances:
        predictor._dataset_reader.apply_token_indexers(instance)
    with torch.no_grad(), Tqdm.tqdm(total=len(instances), desc="sentences") as progress:
        for group in batches_of(instances, batch_size):
            batch = Batch(group)
            batch.index_instances(model.vocab)
            inputs: Any = move_to_device(batch.as_tensor_dict(), device)
            inputs.pop("tags", None)  # the gold tags are in the metadata, unknown ones too
            output = model(**inputs)
            scores, mask = output["scores"], output["mask"]
            tags = head.decode(scores, mask)
            if model.has_chunks:
                chain = head.uncalibrated_chain_probabilities(scores, mask, tags)
            else:
                words = head.uncalibrated_probabilities(scores, mask)
                chain = ChainProbabilities(words, words[:, :0])
            tables = [table.float().cpu().numpy() for table in chain]
            for instance, words_, next_words, row in zip(group, *tables, tags.cpu().numpy()):
                metadata = metadata_of(instance)
                length = len(metadata.tokens)
                if not numpy.isfinite(words_[:length]).all():
                    raise UserError(
                        f"{path}: expected a model with probabilities, got NaN for sentence {len(sentences) + 1}"
                    )
                sentences.append(
                    Sentence(
                        words_[:length],
                        next_words[: length - 1] if model.has_chunks else None,
                        row[:length],
                        metadata,
                    )
                )
            progress.update(len(group))
    return sentences


class Words:
    """The words of labeled sentences.

    # Parameters

    sentences : `Sequence[Sentence]`
    head : `TagHead`
    """

    def __init__(self, sentences: Sequence[Sentence], head: TagHead) -> None:
        self.head = head
        self.sentences = sentences
        self.table = numpy.concatenate([sentence.words for sentence in sentences])
        """The uncalibrated probability of each label: (words, labels)."""
        self.tags = numpy.concatenate([sentence.tags for sentence in sentences])
        """The indices of the decoded tags: (words,)."""
        numbers = {label: number for number, label in enumerate(head.labels)}
        names = [tag for sentence in sentences for tag in sentence.gold or ()]
        self.gold = numpy.array([numbers.get(tag, -1) for tag in names], dtype=numpy.int64)
        """The indices of the gold tags, -1 where the vocabulary lacks one: (words,)."""
        own = self.table[numpy.arange(len(self.gold)), self.gold.clip(min=0)]
        self.is_possible = (self.gold >= 0) & (own > 0)
        """Whether the gold tag can be predicted: (words,). Constraints of a CRF may forbid it."""

    def calibrated(self, calibration: Calibration) -> numpy.ndarray:
        """The calibrated probability of each label: (words, labels)."""
        return calibration.apply(torch.from_numpy(self.table), self.head.labels).numpy()

    def halves(self) -> "list[Words]":
        """Every other sentence, and the others."""
        return [Words(self.sentences[start::2], self.head) for start in (0, 1)]

    def chunks(self, calibration: Calibration) -> tuple[numpy.ndarray, numpy.ndarray]:
        """The calibrated probability of each predicted chunk, and whether it is a gold one."""
        probabilities: list[float] = []
        is_right: list[bool] = []
        labels = self.head.labels
        for start in range(0, len(self.sentences), _SENTENCES):
            group = self.sentences[start : start + _SENTENCES]
            chunks = [chunks_of([labels[tag] for tag in sentence.tags]) for sentence in group]
            lengths = torch.tensor([len(sentence.tags) for sentence in group])
            mask = torch.arange(int(lengths.max())) < lengths.unsqueeze(1)
            words = _padded([sentence.words for sentence in group], mask.size(1))
            after = [sentence.next_words for sentence in group if sentence.next_words is not None]
            next_words = _padded(after, mask.size(1) - 1)
            chain = ChainProbabilities(
                *(calibration.apply(table, labels) for table in (words, next_words))
            )
            tags = _padded([sentence.tags for sentence in group], mask.size(1))
            found = self.head.chunk_probabilities(chain, mask, tags, chunks)
            for sentence, each, values in zip(group, chunks, found):
                gold = set(chunks_of(sentence.gold or []))
                probabilities += values
                is_right += [chunk in gold for chunk in each]
        return numpy.array(probabilities), numpy.array(is_right, dtype=bool)


def check_labeled(sentences: Sequence[Sentence], head: TagHead, path: str) -> None:
    """Raises `DataFormatError` where the sentences cannot be used for a calibration."""
    for number, sentence in enumerate(sentences, 1):
        if sentence.gold is None:
            raise DataFormatError(f"{path}: expected gold tags, got none for sentence {number}")
    count = sum(len(sentence.tags) for sentence in sentences)
    if count < MIN_WORDS or len(sentences) < 2:
        raise DataFormatError(
            f"{path}: expected at least 2 sentences and {MIN_WORDS} words with gold tags, got {len(sentences)} and "
            f"{count}"
        )
    for label in ("BAD", "OK") if head.is_word_qe else ():
        counts = [
            sum((tag != "OK") == (label == "BAD") for each in half for tag in each.gold or [])
            for half in (sentences[::2], sentences[1::2])
        ]
        if not all(counts):
            raise DataFormatError(
                f"{path}: expected words tagged {label}, in every half of the sentences, got {sum(counts)} among "
                f"{count} words"
            )


def _padded(arrays: Sequence[numpy.ndarray], length: int) -> torch.Tensor:
    """Arrays (words, ...) -> (arrays, length, ...), with 0 in padding."""
    padded = torch.from_numpy(
        numpy.zeros((len(arrays), length, *arrays[0].shape[1:]), arrays[0].dtype)
    )
    for row, array in zip(padded, arrays):
        row[: len(array)] = torch.from_numpy(array)
    return padded
