"""The tagger of word-level quality estimation: calibration, thresholds and scores of sentences."""

import copy
import math

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.models import Model

from allennlp_nef.data.fields import NO_LABEL
from allennlp_nef.qe.answers import bad_probabilities
from allennlp_nef.qe.model import SentenceHead, source_bad_probabilities
from allennlp_nef.qe.reader import WmtWordQeReader
from tests import small_batches
from tests.qe.small_qe import MODEL, PAIRS, instances_of

SEVERITIES = ("minor", "OK", "major")
GOLD = torch.tensor([0.5, 0.0, 1.0, 0.3])


def make_vocab(labels=("OK", "BAD")):
    vocab = Vocabulary.from_instances(instances_of(WmtWordQeReader(), tags=False))
    for label in labels:
        vocab.add_token_to_namespace(label, "labels")
    return vocab


def make_model(labels=("OK", "BAD"), **options):
    torch.manual_seed(0)
    params = copy.deepcopy({**MODEL, "tag_head": {}, **options})
    return Model.from_params(Params(params), vocab=make_vocab(labels)).eval()


def make_batch(tags=True, gold=None, labels=("OK", "BAD")):
    name = "severities" if "minor" in labels else "target"
    instances = instances_of(WmtWordQeReader(severities="minor" in labels), name, tags)
    tensors, _ = small_batches.batch_of(instances, make_vocab(labels))
    if gold is None:
        return tensors
    scores = torch.full((len(gold), 3), math.nan)
    scores[:, 0] = gold  # HTER
    return {**tensors, "sentence_scores": scores}


def test_model_learns_and_answers():
    model = small_batches.train(make_model(), make_batch(), steps=40, lr=0.05)
    results = model.forward_on_instances(instances_of(WmtWordQeReader()))
    assert [" ".join(result["tags"]) for result in results] == [pair[3] for pair in PAIRS]
    bad = model.tag_head.labels.index("BAD")
    for result, (_, target, _, tags) in zip(results, PAIRS):
        assert result["words"] == target.split()
        probabilities = bad_probabilities(result["class_probabilities"], model.tag_head.labels)
        assert probabilities.tolist() == result["class_probabilities"][:, bad].tolist()
        assert ["BAD" if p >= 0.5 else "OK" for p in probabilities] == tags.split()
        assert "spans" not in result and "hter" not in result


def test_words_without_a_gold_tag_do_not_count():
    model, batch = make_model(metrics=["word_qe"]), make_batch()
    is_ok = batch["tags"] == model.ok_id
    batch["tags"][~is_ok] = NO_LABEL
    tags = model(**batch)["tag_ids"][is_ok & batch["target"]["tokens"]["tokens"].bool()]
    expected = (tags == model.ok_id).float().mean().item()
    assert model.get_metrics()["accuracy"] == pytest.approx(expected)


class TestDecoding:
    MASK = torch.tensor([[True, True, True, False]])

    def decode(self, table, labels=("OK", "BAD"), **options):
        """The tags and probabilities of words that have these probabilities before calibration."""
        model = make_model(labels, **options)
        table = torch.tensor([[*table, [math.nan] * len(labels)]])
        with torch.no_grad():
            tags, found, _ = model.predict(
                table.log() + model.tag_head.label_weights.log(), self.MASK
            )
        assert tags[0, 3] == 0 and (found[0, 3] == 0).all()
        return [labels[tag] for tag in tags[0, :3]], found[0, :3], model

    @pytest.mark.parametrize("weight", [1.0, 0.25, 3.0])
    @pytest.mark.parametrize("temperature", [1.0, 0.5, 2.0])
    def test_default_threshold_is_that_of_the_tag_head(self, weight, temperature):
        """Calibration does not change the order of words."""
        options = {"tag_head": {"label_weights": {"BAD": weight}}, "temperature": temperature}
        table = [[0.3, 0.7], [0.6, 0.4], [0.9, 0.1]]
        tags, found, model = self.decode(table, **options)
        assert tags == ["BAD" if weight * bad > ok else "OK" for ok, bad in table]
        powers = torch.tensor(table) ** (1 / temperature)
        torch.testing.assert_close(found, powers / powers.sum(-1, keepdim=True))
        is_bad = found[:, 1] >= model.threshold_or_default
        assert ["BAD" if each else "OK" for each in is_bad] == tags

    def test_a_threshold_decides(self):
        table = [[0.3, 0.7], [0.6, 0.4], [0.9, 0.1]]
        assert self.decode(table, threshold=0.4)[0] == ["BAD", "BAD", "OK"]
        assert self.decode(table, threshold=0.75)[0] == ["OK"] * 3
        # Of the calibrated probability: 0.1^(1/4) / (0.1^(1/4) + 0.9^(1/4)) = 0.366.
        assert self.decode(table, threshold=0.36, temperature=4.0)[0] == ["BAD"] * 3
        assert self.decode(table, threshold=0.37, temperature=4.0)[0] == ["BAD", "BAD", "OK"]

    def test_severities_together_decide_and_the_more_probable_one_is_the_tag(self):
        table = [[0.3, 0.4, 0.3], [0.2, 0.49, 0.31], [0.2, 0.6, 0.2]]
        assert self.decode(table, SEVERITIES)[0] == ["minor", "major", "OK"]
        assert self.decode(table, SEVERITIES, threshold=0.3)[0] == ["minor", "major", "minor"]
        assert self.decode(table, SEVERITIES, threshold=0.55)[0] == ["minor", "OK", "OK"]
        weights = {"tag_head": {"label_weights": {"minor": 3.0, "major": 3.0}}}
        tags, _, model = self.decode(table, SEVERITIES, **weights)
        assert tags == ["minor", "major", "minor"]
        assert model.threshold_or_default == pytest.approx(1 / 4)

    @pytest.mark.parametrize("temperature", [0.01, 100.0])
    def test_extreme_temperatures_give_probabilities(self, temperature):
        table = [[1 - 1e-7, 1e-7], [0.5, 0.5], [0.0, 1.0]]
        _, found, _ = self.decode(table, temperature=temperature)
        torch.testing.assert_close(found.sum(-1), torch.ones(3))

    def test_a_crf_is_decoded_by_its_marginals(self):
        model = make_model(tag_head={"type": "crf", "label_weights": {"BAD": 5.0}})
        assert model.threshold_or_default == 0.5
        output = model(**make_batch())
        table, mask = output["class_probabilities"], output["mask"]
        torch.testing.assert_close(table.sum(-1), mask.float())
        assert torch.equal(output["tag_ids"][mask], table.argmax(-1)[mask])


class TestSentenceScore:
    METRICS = ["word_qe", "sentence_scores"]

    def shares(self, model, output):
        tables = model.make_output_human_readable(output)["class_probabilities"]
        labels = model.tag_head.labels
        return torch.tensor([bad_probabilities(table, labels).mean() for table in tables]).float()

    def test_without_a_head_it_is_the_expected_share_of_bad_words(self):
        model = make_model(metrics=self.METRICS, temperature=2.0)
        output = model(**make_batch(gold=GOLD))
        assert "hter" not in output
        metrics = model.get_metrics(reset=True)
        expected = (self.shares(model, output) - GOLD).abs().mean().item()
        assert metrics["expected_bad_share_mae"] == pytest.approx(expected, abs=1e-6)
        assert {"mcc", "expected_bad_share_pearson"} <= metrics.keys()

    def test_with_a_head_it_starts_at_the_share_before_calibration(self):
        options = {"metrics": self.METRICS, "sentence_heads": {"hter": {}}}
        plain, calibrated = make_model(**options), make_model(**options, temperature=3.0)
        output, other = plain(**make_batch(gold=GOLD)), calibrated(**make_batch(gold=GOLD))
        torch.testing.assert_close(output["hter"], self.shares(plain, output))
        assert torch.equal(output["hter"], other["hter"])
        assert not torch.allclose(self.shares(plain, output), self.shares(calibrated, other))
        readable = plain.make_output_human_readable(output)
        assert readable["hter"] == output["hter"].tolist()
        expected = (output["hter"] - GOLD).abs().mean().item()
        assert plain.get_metrics(reset=True)["hter_mae"] == pytest.approx(expected)

    def test_its_loss_is_added(self):
        losses = [make_model()(**make_batch(gold=GOLD))["loss"].item()]
        for weight in (1, 2):
            model = make_model(sentence_heads={"hter": {"loss_weight": weight}})
            losses.append(model(**make_batch(gold=GOLD))["loss"].item())
        assert losses[0] < losses[1]
        assert losses[2] - losses[1] == pytest.approx(losses[1] - losses[0], rel=1e-4)
        assert make_model(sentence_heads={"hter": {}})(**make_batch())["loss"].item() == losses[0]

    def test_data_may_lack_scores_or_tags(self):
        model = make_model(sentence_heads={"hter": {}}, metrics=self.METRICS)
        model(**make_batch())
        assert "hter_pearson" not in model.get_metrics(reset=True)
        assert "loss" not in model(**make_batch(tags=False, gold=GOLD))
        assert "hter_pearson" in model.get_metrics(reset=True)
        assert "hter" in model(**make_batch(tags=False))

    def test_training_without_scores_is_an_error(self):
        with pytest.raises(ConfigurationError):
            make_model(sentence_heads={"hter": {}}).train()(**make_batch())
        make_model(metrics=self.METRICS).train()(**make_batch())


class TestSentenceHead:
    MASK = torch.tensor([[True, True, True], [True, False, False]])
    BAD = torch.tensor([[0.2, 0.4, 0.9], [0.3, math.nan, math.nan]])
    STATES = torch.arange(12.0).view(2, 3, 2).masked_fill(~MASK.unsqueeze(-1), math.nan)

    def test_score_has_the_formula_of_the_docstring(self):
        head = SentenceHead(2)
        logits = head(self.STATES, self.MASK, self.BAD)
        torch.testing.assert_close(logits.sigmoid(), torch.tensor([0.5, 0.3]))
        for parameter in head.parameters():
            torch.nn.init.normal_(parameter)
        (weight,), bias = head.projection.weight.tolist(), head.projection.bias.item()
        pooled, p = [2.0, 3.0, 4.0, 5.0], 0.5  # mean and maximum
        expected = head.scale.item() * math.log(p / (1 - p))
        expected += sum(w * h for w, h in zip(weight, pooled, strict=True))
        found = head(self.STATES, self.MASK, self.BAD)[0].item()
        assert found == pytest.approx(expected + bias)

    def test_certain_and_empty_sentences_have_finite_gradients(self):
        head = SentenceHead(2)
        bad = torch.tensor([[0.0] * 3, [1.0] * 3, [math.nan] * 3], requires_grad=True)
        mask = torch.tensor([[True] * 3, [True] * 3, [False] * 3])
        logits = head(torch.ones(3, 3, 2), mask, bad)
        head.loss(logits, torch.tensor([0.0, 2.0, math.nan])).backward()
        assert all(p.grad.isfinite().all() for p in (*head.parameters(), bad))

    @pytest.mark.parametrize("gold, best", [(0.3, 0.3), (0.9, 0.9), (1.7, 1.0)])
    def test_loss_is_minimal_at_the_gold_score(self, gold, best):
        head = SentenceHead(2)
        logits = torch.linspace(-4, 4, 200)
        losses = torch.stack([head.loss(x.view(1), torch.tensor([gold])) for x in logits])
        assert logits[losses.argmin()].sigmoid().item() == pytest.approx(best, abs=0.02)

    def test_sentences_without_a_gold_score_do_not_count(self):
        head = SentenceHead(2, loss_weight=1)
        logits, gold = torch.tensor([0.5, 2.0, -1.0]), torch.tensor([0.2, math.nan, 0.7])
        mean = (head.loss(logits[:1], gold[:1]) + head.loss(logits[2:], gold[2:])) / 2
        torch.testing.assert_close(head.loss(logits, gold), mean)
        assert head.loss(logits[1:2], gold[1:2]).item() == 0

    def test_logits_can_be_rescaled(self):
        head, mask = SentenceHead(2), torch.ones(3, 4, dtype=bool)
        batch = torch.rand(3, 4, 2), mask, torch.rand(3, 4)
        torch.nn.init.normal_(head.projection.weight)
        logits = head(*batch)
        head.rescale(0.4, -1.5)
        torch.testing.assert_close(head(*batch), 0.4 * logits - 1.5)


def test_all_heads_learn_from_the_sentences_that_have_their_score():
    names = ("hter", "quality", "critical_error_probability")
    model = make_model(sentence_heads={name: {} for name in names}, metrics=["sentence_scores"])
    batch = make_batch(tags=False, gold=GOLD)
    batch["sentence_scores"] = torch.tensor(
        [[0.2, math.nan, 1.0], [math.nan, 0.9, 0.0], [0.7, 0.1, math.nan], [math.nan] * 3]
    )
    batch["tags"] = torch.full_like(batch["target"]["tokens"]["tokens"], NO_LABEL)
    small_batches.train(model, batch, steps=60, lr=0.05)
    output = model.eval()(**batch)
    for i, name in enumerate(names):
        gold = batch["sentence_scores"][:, i]
        known = ~gold.isnan()
        torch.testing.assert_close(output[name][known], gold[known], atol=0.15, rtol=0)
    metrics = model.get_metrics(reset=True)
    assert {f"{name}_pearson" for name in names} <= metrics.keys()
    assert model.outputs[:3] == [*names] and model.thresholds == {"critical_error_threshold": 0.5}


def test_unknown_heads_and_wrong_options_of_heads_are_errors():
    for heads in (
        {"fluency": {}},
        {"hter": {"threshold": 2}},
        {"hter": {"loss_weight": -1}},
    ):
        with pytest.raises(ConfigurationError):
            make_model(sentence_heads=heads)


@pytest.mark.parametrize("labels", [("OK", "minor", "BAD"), ("minor", "major"), ("OK", "X")])
def test_other_labels_and_temperatures_are_errors(labels):
    with pytest.raises(ConfigurationError):
        make_model(labels)
    with pytest.raises(ConfigurationError):
        make_model(temperature=0.0)


def test_source_words_have_the_mean_probability_of_the_aligned_words():
    bad = torch.tensor([[0.9, 0.1, 0.0], [0.2, 0.4, 0.6]])
    mask = torch.tensor([[True, True, False], [True, True, True]])
    weights = torch.tensor([[[1, 0], [0.5, 0.5], [0.5, 0.5]], [[0, 1], [0, 1], [0.0, 1]]])
    expected = torch.tensor([[0.95 / 1.5, 0.1], [0, 0.4]])
    torch.testing.assert_close(source_bad_probabilities(bad, weights, mask), expected)
