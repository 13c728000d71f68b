"""Precision, recall and F1 of chunks during training."""

from collections.abc import Sequence

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.nn.util import dist_reduce_sum
from allennlp.training.metrics import Metric

from allennlp_nef.data.chunks import are_chunk_tags, convert_tags, split_tag
from allennlp_nef.metrics.tag_scores import chunk_scores, count_chunks, precision_recall_f1


@Metric.register("conlleval")
class ConllEval(Metric):
    """Precision, recall and F1 of chunks, such as named entities, as `conlleval` counts them.

    A predicted chunk is correct if a gold chunk has the same words and the same type. `allennlp_nef.data.chunks`
    describes how chunks are read from tags, well-formed or not. The metric compares labels, not indices, because gold
    labels may be missing from the vocabulary.

    Returns `precision-overall`, `recall-overall`, `f1-overall`, the same for each type in the vocabulary (`f1-PER`),
    and `accuracy`, the share of correct tags (BIOUL tags are converted to BIO first), all as fractions of 1. In
    distributed training, `get_metric(reset=True)` returns the scores over all processes.

    # Parameters

    vocab, label_namespace
        The model supplies these arguments; omit them in a config.
    """

    def __init__(self, vocab: Vocabulary, label_namespace: str = "labels") -> None:
        labels = list(vocab.get_token_to_index_vocabulary(label_namespace))
        if not are_chunk_tags(labels):
            raise ConfigurationError(f"conlleval: the labels are not chunk tags: {labels}")
        prefixes, types = zip(*map(split_tag, labels))
        self._is_bioul = not {"B", "I", "O"}.issuperset(prefixes)
        self._types = sorted({kind for kind in types if kind})
        self.reset()

    def __call__(self, predicted: Sequence[list[str]], gold: Sequence[list[str]]) -> None:  # type: ignore[override]
        """Counts the predicted and the gold labels of each sentence."""
        if self._is_bioul:
            predicted, gold = (
                [convert_tags(tags, "BIO") for tags in side] for side in (predicted, gold)
            )
        counts = count_chunks(gold, predicted)
        self._totals += torch.from_numpy(counts.sentences.sum(0))
        for row, kind in zip(self._by_type, self._types):
            row += torch.tensor(counts.types.get(kind, (0, 0, 0)))

    def get_metric(self, reset: bool = False) -> dict[str, float]:
        totals, by_type = self._totals, self._by_type
        if reset:
            totals, by_type = dist_reduce_sum(totals), dist_reduce_sum(by_type)
            self.reset()
        scores = {name: float(value) for name, value in chunk_scores(totals.cpu().numpy()).items()}
        for kind, row in zip(self._types, by_type.tolist()) if reset else ():
            names = (f"precision-{kind}", f"recall-{kind}", f"f1-{kind}")
            scores.update(zip(names, map(float, precision_recall_f1(*row))))
        return scores

    def reset(self) -> None:
        # Correct, predicted and gold chunks, words with the right tag, and words.
        self._totals = torch.zeros(5, dtype=torch.long)
        # Correct, predicted and gold chunks of each type.
        self._by_type = torch.zeros(len(self._types), 3, dtype=torch.long)
