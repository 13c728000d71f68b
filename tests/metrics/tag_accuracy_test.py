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
