import pytest
import torch
from allennlp.common import Lazy, Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.training.metrics import Metric
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

from allennlp_nef.metrics import TagAccuracy, WordQeMetric, word_qe_scores

NAMES = ["f1_ok", "f1_bad", "f1_mult", "mcc", "accuracy"]


def vocabulary(*labels):
    vocab = Vocabulary(non_padded_namespaces=["labels"])
    for label in labels or ("OK", "BAD"):
        vocab.add_token_to_namespace(label, "labels")
    return vocab


def make(name="word_qe", vocab=None, **options):
    """As the model makes it."""
    lazy = Lazy(Metric, params=Params({"type": name, **options}))
    return lazy.construct(vocab=vocab or vocabulary(), label_namespace="labels")


def batches_of(seed, share_bad=0.3):
    """Batches (predictions, gold, mask) of several shapes."""
    generator = torch.Generator().manual_seed(seed)
    batches = []
    for sentences, tokens in ((3, 7), (1, 1), (4, 12), (2, 5)):
        predicted, gold, keep = torch.rand(3, sentences, tokens, generator=generator)
        agree = torch.rand(sentences, tokens, generator=generator) < 0.5
        gold = (gold < share_bad).long()
        batches.append((torch.where(agree, gold, (predicted < share_bad).long()), gold, keep < 0.8))
    return batches


def expected_scores(predictions, gold, bad=1):
    """By scikit-learn."""
    options = {"zero_division": 0, "labels": [1 - bad, bad], "average": None}
    ok, is_bad = f1_score(gold, predictions, **options)
    mcc, accuracy = matthews_corrcoef(gold, predictions), accuracy_score(gold, predictions)
    return dict(zip(NAMES, (ok, is_bad, ok * is_bad, mcc, accuracy)))


def words_of(batches):
    return [torch.cat([batch[i][batch[2]] for batch in batches]).tolist() for i in (0, 1)]


def assert_python_floats(scores):
    assert all(type(value) is float for value in scores.values()), scores


class TestWordQe:
    def test_the_name_is_registered(self):
        assert isinstance(make(), WordQeMetric)

    @pytest.mark.parametrize("share_bad", [0.05, 0.3, 0.9])
    @pytest.mark.parametrize("seed", range(3))
    def test_scores_are_those_of_scikit_learn(self, seed, share_bad):
        """Over all batches together, not the mean of each."""
        metric, batches = make(), batches_of(seed, share_bad)
        for predictions, gold, mask in batches:
            metric(predictions, gold, mask)
        scores = metric.get_metric()
        assert scores == pytest.approx(expected_scores(*words_of(batches)))
        assert list(scores) == NAMES
        assert_python_floats(scores)

    def test_the_order_of_the_labels_does_not_change_the_scores(self):
        metric = make(vocab=vocabulary("BAD", "OK"))
        predictions, gold = torch.tensor([[0, 0, 1, 1, 1]]), torch.tensor([[0, 1, 1, 1, 0]])
        metric(predictions, gold)
        expected = expected_scores(predictions[0].tolist(), gold[0].tolist(), bad=0)
        assert metric.get_metric() == pytest.approx(expected)
        assert metric.get_metric()["f1_bad"] == pytest.approx(0.5)
        assert metric.get_metric()["f1_ok"] == pytest.approx(2 / 3)

    @pytest.mark.parametrize(
        "predictions, gold",
        [
            ([], []),
            ([0], [0]),
            ([1], [1]),
            ([0, 0], [1, 0]),
            ([1, 1], [0, 1]),
            ([0], [1]),
            ([1], [0]),
        ],
        ids=str,
    )
    @pytest.mark.filterwarnings("ignore:A single label was found:UserWarning")
    def test_never_divides_by_zero(self, predictions, gold):
        metric = make()
        metric(torch.tensor([predictions]).long(), torch.tensor([gold]).long())
        scores = metric.get_metric()
        if gold:
            assert scores == pytest.approx(expected_scores(predictions, gold))
        else:
            assert scores == dict.fromkeys(NAMES, 0.0)
        assert_python_floats(scores)

    def test_scores_are_0_before_any_batch(self):
        scores = make().get_metric()
        assert scores == dict.fromkeys(NAMES, 0.0)
        assert_python_floats(scores)

    def test_scores_are_0_where_nothing_is_predicted_bad(self):
        metric = make()
        metric(torch.zeros(1, 4).long(), torch.tensor([[1, 0, 0, 1]]))
        scores = metric.get_metric()
        assert (scores["f1_bad"], scores["f1_mult"], scores["mcc"]) == (0, 0, 0)
        assert scores["accuracy"] == 0.5

    def test_reset_forgets_the_counts(self):
        metric = make()
        metric(torch.tensor([[0, 1]]), torch.tensor([[0, 0]]))
        assert metric.get_metric(reset=True)["accuracy"] == 0.5
        assert metric.get_metric()["accuracy"] == 0
        metric(torch.tensor([[1, 1]]), torch.tensor([[1, 1]]))
        assert metric.get_metric()["f1_bad"] == 1

    def test_a_vocabulary_may_lack_bad(self):
        """A training set may have no wrong word."""
        metric = make(vocab=vocabulary("OK"))
        metric(torch.tensor([[0, 0]]), torch.tensor([[0, 0]]))
        scores = metric.get_metric()
        assert (scores["f1_ok"], scores["f1_bad"], scores["accuracy"]) == (1, 0, 1)

    def test_labels_may_have_other_names(self):
        metric = make(vocab=vocabulary("good", "poor"), ok_label="good", bad_label="poor")
        metric(torch.tensor([[1, 0, 0]]), torch.tensor([[1, 1, 0]]))
        assert metric.get_metric()["f1_bad"] == pytest.approx(2 / 3)

    def test_other_labels_are_refused(self):
        with pytest.raises(ConfigurationError, match="labels OK and BAD, got NOUN, OK"):
            make(vocab=vocabulary("NOUN", "OK"))

    def test_large_counts_do_not_overflow(self):
        """Of a corpus of 10^10 words, of which products of four counts overflow 64 bits."""
        n = 10**10
        scores = word_qe_scores([n, n, n, 2 * n])
        assert scores["mcc"] == pytest.approx(1 / 6)
        assert scores["f1_bad"] == pytest.approx(0.5)


class TestTagAccuracy:
    def test_accuracy_is_that_of_all_batches(self):
        metric, batches = make("tag_accuracy"), batches_of(0)
        assert isinstance(metric, TagAccuracy)
        assert metric.get_metric() == {"accuracy": 0.0}
        for predictions, gold, mask in batches:
            metric(predictions, gold, mask)
        predictions, gold = words_of(batches)
        scores = metric.get_metric(reset=True)
        assert scores == {"accuracy": pytest.approx(accuracy_score(gold, predictions))}
        assert_python_floats(scores)
        assert metric.get_metric() == {"accuracy": 0.0}

    def test_no_mask_counts_all_words(self):
        metric = make("tag_accuracy")
        metric(torch.tensor([[0, 1, 5]]), torch.tensor([[0, 2, 5]]))
        assert metric.get_metric()["accuracy"] == pytest.approx(2 / 3)
