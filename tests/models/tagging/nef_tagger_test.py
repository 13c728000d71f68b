"""The tagger: output, padding, options, metrics and labels that the vocabulary lacks."""

import math

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data.data_loaders import SimpleDataLoader
from allennlp.training.util import evaluate

from allennlp_nef.data.fields import NO_LABEL, UNSEEN, TagsField
from allennlp_nef.predictors.nef_tagger import pretrained_encoder_of, step_name_of, title_of
from tests.models.tagging.small_tagger import (
    LENGTHS,
    TRAIN,
    VOCAB,
    compose,
    decoder,
    label_attention,
    lstm,
    make_batch,
    make_instance,
    make_instances,
    make_tagger,
    self_attention,
    train,
)
from tests.processes import in_two_processes
from tests.small_transformer import DIM, save_bert

CRF = {"tag_head": {"type": "crf"}}
MODELS = {
    "baseline": {},
    "nef": {"decoder": decoder()},
    "nef_crf": {"decoder": decoder(sketch_update="single"), **CRF},
    "lan": {
        "encoder": label_attention(num_layers=2, attend_last=False),
        "tag_head": {"type": "label_attention"},
    },
}


@pytest.mark.parametrize("options", MODELS.values(), ids=list(MODELS))
class TestForward:
    def test_output_has_tags_probabilities_and_a_loss(self, options):
        model = make_tagger(**options)
        output = model(**make_batch())
        names = {"mask", "scores", "loss", "metadata", "tag_ids"}
        assert set(output) == {*names, "class_probabilities", "next_probabilities"}
        mask, table = output["mask"], output["class_probabilities"]
        assert mask.sum(-1).tolist() == LENGTHS
        assert output["loss"].item() > 0
        assert (output["tag_ids"][~mask] == 0).all()
        torch.testing.assert_close(table.sum(-1), mask.float())
        assert not table.requires_grad
        assert set(model.train()(**make_batch())) == names
        assert "loss" not in model(**make_batch(tags=False))

    def test_model_learns_three_sentences(self, options):
        model = train(make_tagger(**options), make_batch())
        results = model.forward_on_instances(make_instances())
        assert [" ".join(result["tags"]) for result in results] == [tags for _, tags in TRAIN]
        model.get_metrics(reset=True)
        model(**make_batch())
        assert model.get_metrics() == {"accuracy": 1.0}

    def test_nan_in_padding_reaches_neither_output_nor_gradients(self, options):
        model = make_tagger(**options)
        expected = model(**make_batch())
        with torch.no_grad():  # the vector of padding
            model.text_field_embedder.token_embedder_tokens.weight[0] = math.nan
        model.encoder.register_forward_hook(
            lambda _, args, states: states.masked_fill(~args[1].unsqueeze(-1), math.nan)
        )
        output = model(**make_batch())
        for name in ("class_probabilities", "tag_ids", "loss"):
            assert torch.equal(output[name], expected[name])
        output["loss"].backward()
        assert all(parameter.grad.isfinite().all() for parameter in model.parameters())


class TestReadable:
    @pytest.mark.parametrize("options", MODELS.values(), ids=list(MODELS))
    def test_entries_are_as_long_as_the_sentences(self, options):
        model = make_tagger(**options)
        with torch.no_grad():
            readable = model.make_output_human_readable(model(**make_batch()))
        arrays = ("tag_ids", "class_probabilities", "next_probabilities")
        assert set(readable) == {"words", "tags", *arrays}
        assert readable["words"] == [words.split() for words, _ in TRAIN]
        rows = zip(readable["tags"], *(readable[name] for name in arrays), LENGTHS)
        for tags, ids, table, following, length in rows:
            assert table.shape == (length, len(model.tag_head.labels))
            assert following.shape == (length - 1, len(model.tag_head.labels))
            assert ids.tolist() == [VOCAB.get_token_index(tag, "labels") for tag in tags]

    def test_words_are_not_needed(self):
        model = make_tagger()
        batch = make_batch(tags=False)
        del batch["metadata"]
        readable = model.make_output_human_readable(model(**batch))
        assert "words" not in readable and [len(tags) for tags in readable["tags"]] == LENGTHS


class TestOptions:
    def test_dropout_is_applied_to_vectors_and_states_in_training_only(self):
        plain, model = make_tagger(), make_tagger(dropout=0.5)
        assert torch.equal(model(**make_batch())["loss"], plain(**make_batch())["loss"])
        seen = {}
        model.encoder.register_forward_pre_hook(lambda _, args: seen.update(vectors=args[0]))
        model.tag_head.projection.register_forward_pre_hook(
            lambda _, args: seen.update(states=args[0])
        )
        mask = model.train()(**make_batch())["mask"]
        for tensor in seen.values():
            assert 0.2 < (tensor[mask] == 0).float().mean() < 0.8
        model = make_tagger(input_dropout=1.0).train()
        model.encoder.register_forward_pre_hook(lambda _, args: seen.update(vectors=args[0]))
        model(**make_batch())
        assert (seen["vectors"] == 0).all()

    def test_metrics_of_allennlp_have_their_usual_scores(self):
        names = ["categorical_accuracy", "span_f1", "fbeta", {"type": "fbeta", "average": "micro"}]
        model = train(make_tagger(metrics=["conlleval", *names]), make_batch(), steps=6)
        output = model(**make_batch())
        scores = model.get_metrics(reset=True)
        assert 0 < scores["accuracy"] < 1
        for name in ("categorical_accuracy", "precision", "fscore"):
            assert scores[name] == pytest.approx(scores["accuracy"])
        assert scores["f1-measure-overall"] == pytest.approx(scores["f1-overall"])
        gold, predicted = (
            each[output["mask"]] for each in (make_batch()["tags"], output["tag_ids"])
        )
        for index, label in enumerate(model.tag_head.labels):
            right = ((gold == index) & (predicted == index)).sum() / (gold == index).sum()
            assert scores[f"recall-{label}"] == pytest.approx(right.item())

    def test_no_metrics_are_none(self):
        model = make_tagger(metrics=[])
        model(**make_batch())
        assert model.get_metrics() == {}

    @pytest.mark.parametrize(
        "options",
        [
            {"encoder": {**lstm(), "input_size": None}},
            {"encoder": {**lstm(), "input_size": None}, "decoder": decoder(input_dim=None)},
            {"decoder": compose({"type": "dropout", "input_dim": None, "dropout": 0.1}, decoder())},
        ],
        ids=["encoder", "both", "compose"],
    )
    def test_null_stands_for_the_dimension_of_the_part_before(self, options):
        model = make_tagger(**options)
        assert model.encoder.get_input_dim() == 4
        assert model.decoder is None or model.decoder.get_input_dim() == 6
        assert model(**make_batch())["loss"].isfinite()

    def test_initializer_and_regularizer_are_those_of_allennlp(self):
        constant = {"type": "constant", "val": 0.25}
        regexes = [["projection.weight", {"type": "l2", "alpha": 2.0}]]
        model = make_tagger(
            initializer={"regexes": [["tag_head.*weight", constant]]},
            regularizer={"regexes": regexes},
        )
        weight = model.tag_head.projection.weight
        assert (weight == 0.25).all()
        assert model.get_regularization_penalty().item() == pytest.approx(2 * weight.numel() / 16)

    def test_labels_of_another_namespace_are_an_error(self):
        with pytest.raises(ConfigurationError):
            make_tagger(label_namespace="lables")

    @pytest.mark.parametrize(
        "options, title, step_name",
        [
            ({"decoder": decoder(num_steps=5)}, "NEF-F csoftmax, N = 5", "step"),
            ({"decoder": decoder(num_steps=5), **CRF}, "NEF-F csoftmax, N = 5 + CRF", "step"),
            ({}, "Lstm", None),
            ({"encoder": compose(lstm(), self_attention(6))}, None, "word"),
        ],
    )
    def test_title_and_steps_are_those_of_the_last_encoder(self, options, title, step_name):
        model = make_tagger(**options)
        assert title is None or title_of(model) == title
        assert step_name_of(model) == step_name
        assert model.has_chunks

    @pytest.mark.parametrize("options, head", [({}, "linear"), (CRF, "CRF")])
    def test_title_without_encoder_names_the_pretrained_one(self, tmp_path, options, head):
        save_bert(tmp_path / "bert-tiny")
        embedder = {"type": "word_pieces", "model_name": str(tmp_path / "bert-tiny")}
        model = make_tagger(
            text_field_embedder={"token_embedders": {"word_pieces": embedder}},
            encoder={"type": "pass_through", "input_dim": DIM},
            **options,
        )
        assert title_of(model) == f"bert-tiny + {head}" and step_name_of(model) is None
        assert pretrained_encoder_of(model) == "bert-tiny"


class TestLabelTable:
    def test_layers_and_output_share_one_table(self):
        stack = compose(label_attention(num_layers=2), label_attention(12, attend_last=False))
        model = make_tagger(encoder=stack, tag_head={"type": "label_attention"})
        tables = [name for name, _ in model.named_parameters() if "label_table" in name]
        assert tables == ["encoder.encoder0.label_table.weight"]
        assert model.tag_head.label_table is model.encoder.encoders[1].label_table
        model.train()(**make_batch())["loss"].backward()
        assert (model.tag_head.label_table.weight.grad != 0).any()
        for head in ("softmax", "crf"):
            make_tagger(encoder=stack, tag_head={"type": head})(**make_batch())

    def test_head_has_its_own_table_if_no_encoder_has_one(self):
        model = make_tagger(tag_head={"type": "label_attention"})
        assert model.tag_head.label_table.weight.shape == (len(model.tag_head.labels), 6)


# I-LOC, B-ORG and I-ORG are not in the training data. The second sentence has none of them.
TEST = [
    ("New York left", "B-LOC I-LOC O"),
    ("Anna left", "B-PER O"),
    ("Red Cross and Red Cross", "B-ORG I-ORG O B-ORG I-ORG"),
]
HEADS = {"softmax": {}, "crf": CRF}


@pytest.mark.parametrize("head", list(HEADS))
class TestUnseenLabels:
    def test_they_are_left_out_of_the_loss(self, head):
        """Like words without a gold tag: a CRF sums over their tags."""
        model = make_tagger(**HEADS[head])
        batch = make_batch(TEST)
        loss = model(**batch)["loss"]
        batch["tags"][batch["tags"] == UNSEEN] = NO_LABEL
        torch.testing.assert_close(model(**batch)["loss"], loss)
        assert loss > 0
        loss = model.train()(**make_batch([("Red Cross", "B-ORG I-ORG")]))["loss"]
        assert loss.item() == pytest.approx(0, abs=1e-6)
        loss.backward()
        assert all(parameter.grad.abs().max() < 1e-6 for parameter in model.parameters())

    def test_words_without_a_gold_tag_do_not_count(self, head):
        options = {**HEADS[head], "metrics": ["tag_accuracy", "conlleval"]}
        model = train(make_tagger(**options), make_batch())
        words, tags = "Ann Lee left Rome today", ["B-PER", None, "O", "B-LOC", "B-LOC"]
        instance = make_instance(words, "O " * 5)
        instance.add_field("tags", TagsField(tags, instance["tokens"]))
        instance["metadata"].metadata.tags = tags
        scores = evaluate(model, SimpleDataLoader([instance], 1, vocab=VOCAB))
        assert scores["accuracy"] == 3 / 4
        assert (scores["precision-overall"], scores["recall-overall"]) == (1, 2 / 3)
        instance["metadata"].metadata.tags = None
        again = evaluate(model, SimpleDataLoader([instance], 1, vocab=VOCAB))
        assert again == scores and math.isfinite(scores["loss"])


def gradients_of_two_processes(rank):
    """Sentences of one word have no transitions."""
    model = torch.nn.parallel.DistributedDataParallel(make_tagger(**CRF).train())
    for sentences in (TRAIN[1:2], TRAIN[:1] if rank else TEST[:1]):
        model.zero_grad()
        model(**make_batch(sentences))["loss"].backward()
    return {name: p.grad.abs().sum().item() for name, p in model.module.named_parameters()}


def test_every_parameter_has_a_gradient_in_distributed_training(tmp_path):
    first, second = in_two_processes(gradients_of_two_processes, tmp_path / "processes")
    assert first == second and all(math.isfinite(value) for value in first.values())
