import pytest
import torch
from allennlp.common import Lazy, Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.training.metrics import Metric
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

from allennlp_nef.metrics import TagAccuracy, word_qe_scores

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
    @pytest.mark.parametrize("seed, share_bad", [(0, 0.05), (1, 0.3), (2, 0.9)])
    def test_scores_are_those_of_scikit_learn(self, seed, share_bad):
        """Over all batches together, not the mean of each."""
        metric, batches = make(), batches_of(seed, share_bad)
        for predictions, gold, mask in batches:
            metric(predictions, gold, mask)
        scores = metric.get_metric()
        assert scores == pytest.approx(expected_scores(*words_of(batches)))
        assert list(scores) == NAMES
        assert_python_floats(scores)

    @pytest.mark.parametrize(
        "predictions, gold",
        [
            ([], []),
            ([0], [0]),
            ([1], [1]),
            ([0, 0], [1, 0]),
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
