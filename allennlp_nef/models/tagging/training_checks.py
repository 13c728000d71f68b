import torch
from allennlp.common.checks import ConfigurationError


def check_is_labeled(
    tags: torch.Tensor | None, sentence_score: torch.Tensor | None, learns_scores: bool
) -> None:
    """Raises a `ConfigurationError` where a training batch lacks tags, or scores that the model learns."""
    if tags is None:
        raise ConfigurationError(
            "tags: expected gold tags in the training data, got sentences without any; do the files of "
            "train_data_path have them?"
        )
    if learns_scores and sentence_score is None:
        raise ConfigurationError(
            "sentence_score: expected scores of the training sentences, got none; has train_data_path a file "
            ".hter, and dataset_reader the option sentence_scores: true?"
        )
