import torch

from tests.metrics.small_metrics import make_batches, make_metric, words_of


def test_accuracy_is_that_of_all_words_since_the_reset():
    metric, batches = make_metric("tag_accuracy"), make_batches(0, 3)
    assert metric.get_metric() == {"accuracy": 0.0}
    for batch in batches:
        metric(*batch)
    predictions, gold, _ = words_of(batches)
    assert (gold == -1).any()
    for reset in (False, True):
        scores = metric.get_metric(reset)
        assert scores == {"accuracy": (predictions == gold).mean()}
        assert type(scores["accuracy"]) is float
    assert metric.get_metric() == {"accuracy": 0.0}


def test_unseen_labels_and_padding_are_never_right():
    metric = make_metric("tag_accuracy")
    tags = torch.tensor([[-1, 0, 1]])
    predictions = torch.nn.functional.one_hot(tags.clamp(min=0), 2)
    metric(predictions, tags, torch.tensor([[True, True, False]]))
    assert metric.get_metric() == {"accuracy": 0.5}
