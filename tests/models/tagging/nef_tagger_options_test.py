import math

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Instance, Token, Vocabulary
from allennlp.data.fields import MetadataField, SequenceLabelField, TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer

from allennlp_nef.data.metadata import TaggingMetadata
from tests.models.tagging.small_tagger import (
    batch_of,
    config_of,
    decoder,
    embedder,
    instances,
    lstm,
    make,
)


def other_instances(metadata, namespace="labels"):
    """Instances of a reader of another package."""
    made = []
    for words, item in zip(("a b c", "d"), metadata):
        tokens = TextField(
            [Token(word) for word in words.split()], {"tokens": SingleIdTokenIndexer()}
        )
        tags = SequenceLabelField(["X"] * len(tokens), tokens, namespace)
        made.append(Instance({"tokens": tokens, "tags": tags, "metadata": MetadataField(item)}))
    return made


FEEDFORWARD = {
    "type": "feedforward",
    "feedforward": {"input_dim": 4, "num_layers": 1, "hidden_dims": 6, "activations": "tanh"},
}


def sentence_model(vocab, **options):
    options.setdefault("encoder", lstm(4))
    representation = {"type": "sentence", "text_field_embedder": embedder("tokens")}
    return make(vocab, input_representation=representation, **options)


class TestOtherReaders:
    @pytest.mark.parametrize(
        "metadata",
        [
            ({"words": ["a"], "trace": True}, {"words": ["d"]}),
            (TaggingMetadata(["a", "b", "c"]), {"words": ["d"]}),
        ],
        ids=["dicts", "mixed"],
    )
    def test_metadata_is_passed_on(self, metadata):
        made = other_instances(metadata)
        vocab = Vocabulary.from_instances(made)
        model = sentence_model(vocab, decoder=decoder())
        output = model(**batch_of(made, vocab))
        assert "trace" not in output
        readable = model.make_output_human_readable(output)
        assert readable["metadata"] == list(metadata)
        assert readable["tags"] == [["X"] * 3, ["X"]]
        assert "tokens" not in readable
        results = model.forward_on_instances(made)
        assert [result["metadata"] for result in results] == list(metadata)

    @pytest.mark.parametrize("encoder", [lstm(4), FEEDFORWARD], ids=["lstm", "feedforward"])
    @pytest.mark.parametrize("options", [{}, {"decoder": decoder()}], ids=["baseline", "nef"])
    def test_nan_in_padding_reaches_neither_output_nor_gradients(self, encoder, options):
        made = other_instances(({}, {}))
        vocab = Vocabulary.from_instances(made)
        model = sentence_model(vocab, encoder=encoder, **options)
        expected = model(**batch_of(made, vocab))
        embedder = model.input_representation.text_field_embedder.token_embedder_tokens
        with torch.no_grad():  # row 0 is the padding's
            embedder.weight[0] = math.nan
        model.encoder.register_forward_hook(
            lambda _, args, states: states.masked_fill(~args[1].unsqueeze(-1), math.nan)
        )
        output = model(**batch_of(made, vocab))
        assert torch.equal(output["scores"][output["mask"]], expected["scores"][output["mask"]])
        assert torch.equal(output["tag_ids"], expected["tag_ids"])
        assert torch.equal(output["loss"], expected["loss"])
        output["loss"].backward()
        for name, parameter in model.named_parameters():
            assert torch.isfinite(parameter.grad).all(), name


class TestOptions:
    def test_dropout_is_applied_to_vectors_and_states_in_training_only(self):
        plain, model = make(), make(dropout=0.5)
        assert torch.equal(model(**batch_of())["loss"], plain(**batch_of())["loss"])
        seen = {}
        model.encoder.register_forward_pre_hook(lambda _, args: seen.update(vectors=args[0]))
        model.tag_head.projection.register_forward_pre_hook(
            lambda _, args: seen.update(states=args[0])
        )
        output = model.train()(**batch_of())
        for tensor in seen.values():
            dropped = (tensor[output["mask"]] == 0).float().mean()
            assert 0.2 < dropped < 0.8
        assert not torch.equal(output["loss"], plain(**batch_of())["loss"])

    def test_metrics_are_of_the_words_since_the_last_reset(self):
        model = make(metrics=[{"type": "word_qe"}])
        output = model(**batch_of())
        names = {"f1_ok", "f1_bad", "f1_mult", "mcc", "accuracy"}
        first = model.get_metrics(reset=True)
        assert set(first) == names
        assert all(type(value) is float for value in first.values())
        is_right = (output["tag_ids"] == batch_of()["tags"])[output["mask"]]  # not in the padding
        assert first["accuracy"] == pytest.approx(is_right.float().mean().item())
        assert first["accuracy"] < 1
        assert model.get_metrics() == {}
        model(**batch_of())
        model(**batch_of())
        assert model.get_metrics() == pytest.approx(first)
        both = make(metrics=[{"type": "tag_accuracy"}, {"type": "word_qe"}])
        both(**batch_of())
        assert set(both.get_metrics()) == names

    @pytest.mark.parametrize(
        "options, message",
        [
            (
                {"encoder": lstm(23)},
                "encoder: expected input_size or input_dim 24, .* of input_representation, got 23",
            ),
            (
                {"decoder": decoder(input_dim=5)},
                "decoder: expected input_size or input_dim 6, .* of encoder, got 5",
            ),
            ({"dropout": 1.0}, r"dropout: expected a number in \[0, 1\), got 1.0"),
            ({"dropout": -0.1}, "dropout: .* got -0.1"),
        ],
        ids=str,
    )
    def test_bad_options_are_refused(self, options, message):
        with pytest.raises(ConfigurationError, match=message):
            make(**options)

    def test_misspelled_namespaces_are_refused(self):
        with pytest.raises(ConfigurationError) as caught:
            made = config_of()
            made["input_representation"]["target_embedder"] = embedder("target_token")
            make(input_representation=made["input_representation"])
        expected = "expected one of labels, source_tokens, target_tokens, got 'target_token'"
        assert caught.value.message == (
            "input_representation.target_embedder.token_embedder_tokens: vocab_namespace: "
            + expected
        )
        with pytest.raises(ConfigurationError, match="in 'lables'.*: labels, source_tokens, targ"):
            make(label_namespace="lables")

    def test_data_without_labels_are_refused(self):
        vocab = Vocabulary.from_instances(instances(tags=False))
        with pytest.raises(ConfigurationError, match="the training data hold no tags"):
            make(vocab)
