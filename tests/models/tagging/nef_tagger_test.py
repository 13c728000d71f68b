"""What plots, and a page for the model, call a tagger and the rows of its trace."""

import logging
import math
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Instance, Token, Vocabulary
from allennlp.data.fields import MetadataField, SequenceLabelField, TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer
from allennlp.modules.seq2seq_encoders import (
    ComposeEncoder,
)
from overrides import overrides

from allennlp_nef.data import WmtWordQeReader
from allennlp_nef.data.metadata import TaggingMetadata
from allennlp_nef.models.base import run_encoder
from allennlp_nef.models.nef_tagger import error_free_probabilities
from allennlp_nef.models.out_of_memory import OutOfMemoryError
from allennlp_nef.modules.seq2seq_encoders import TracedEncoder
from tests.models.tagging.small_encoders import HEAD, compose, label_attention, self_attention
from tests.models.tagging.small_tagger import (
    LENGTHS,
    PAIRS,
    VOCAB,
    batch_of,
    config_of,
    decoder,
    embedder,
    instances,
    lstm,
    make,
)

MODELS = {
    "baseline": {},
    "nef": {"decoder": decoder()},
    "nef_crf": {"decoder": decoder(sketch_update="single"), "tag_head": {"type": "crf"}},
}


@pytest.mark.parametrize("options", MODELS.values(), ids=list(MODELS))
class TestForward:
    def test_output_has_tags_scores_and_a_loss(self, options):
        model = make(**options)
        output = model(**batch_of())
        keys = {"mask", "tag_ids", "scores", "tagging", "loss", "metadata"}
        assert set(output) == keys
        assert output["mask"].sum(-1).tolist() == LENGTHS
        assert output["tag_ids"].shape == (3, 5)
        assert output["scores"].shape == (3, 5, 2)
        assert (output["tag_ids"][~output["mask"]] == 0).all()
        assert output["loss"].item() > 0
        assert not output["tag_ids"].requires_grad
        assert set(model.train()(**batch_of())) == {"mask", "loss", "metadata"}

    def test_there_is_no_loss_without_tags(self, options):
        model = make(**options)
        output = model(**batch_of(instances(tags=False)))
        expected = {"mask", "tag_ids", "scores", "tagging"}
        assert set(output) == expected | {"metadata"}
        assert model.get_metrics() == {}
        batch = batch_of(instances(tags=False))
        del batch["metadata"]
        assert set(model(**batch)) == expected

    def test_validation_computes_no_probabilities(self, options, monkeypatch):
        model = make(**options)
        expected = model(**batch_of())
        for name in ("probabilities", "chain_probabilities"):
            monkeypatch.setattr(model.tag_head, name, None)
        assert torch.equal(model(**batch_of())["loss"], expected["loss"])

    def test_training_decodes_only_for_metrics_of_tags(self, options, monkeypatch):
        model = make(metrics=["sentence_scores"], **options).train()
        for name in ("decode", "probabilities"):
            monkeypatch.setattr(model.tag_head, name, None)
        assert "loss" in model(**batch_of())

    def test_training_without_tags_is_refused(self, options):
        with pytest.raises(ConfigurationError, match="tags: expected gold tags"):
            make(**options).train()(**batch_of(instances(tags=False)))

    def test_a_batch_gives_what_each_gets_alone(self, options):
        model = make(**options)
        together = model(**batch_of())
        for row, instance in enumerate(instances()):
            alone = model(**batch_of([instance]))
            length = LENGTHS[row]
            torch.testing.assert_close(
                together["scores"][row, :length], alone["scores"][0], rtol=1e-5, atol=1e-5
            )
            assert torch.equal(together["tag_ids"][row, :length], alone["tag_ids"][0])

    def test_model_learns_three_sentences(self, options):
        model = make(**options).train()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
        batch = batch_of()
        for _ in range(40):
            optimizer.zero_grad()
            model(**batch)["loss"].backward()
            optimizer.step()
        assert all(p.grad is not None for p in model.parameters())
        model.get_metrics(reset=True)
        model.eval()(**batch)
        assert model.get_metrics() == {"accuracy": 1.0}


class TestReadable:
    def test_entries_are_as_long_as_the_sentences(self):
        model = make(decoder=decoder())
        readable = model.make_output_human_readable(model(**batch_of()))
        tables = readable["label_probabilities"]
        names = {"tags", "probabilities", "label_probabilities", "metadata", "tokens"}
        assert set(readable) == {*names, "loss"}
        with torch.no_grad():
            assert set(model.make_output_human_readable(model(**batch_of()))) == names
        assert readable["tokens"] == [pair[1].split() for pair in PAIRS]
        assert [len(tags) for tags in readable["tags"]] == LENGTHS
        assert [table.shape for table in tables] == [(length, 2) for length in LENGTHS]
        labels = VOCAB.get_token_to_index_vocabulary("labels")
        for tags, chosen, table in zip(readable["tags"], readable["probabilities"], tables):
            assert table.sum(-1) == pytest.approx(1)
            assert chosen == table.max(-1).tolist()
            assert [labels[tag] for tag in tags] == table.argmax(-1).tolist()

    def test_message_says_what_to_change_when_memory_runs_out(self, monkeypatch):
        model = make()
        output = model(**batch_of())
        error = MagicMock(side_effect=RuntimeError("CUDA out of memory"))
        monkeypatch.setattr(model.tag_head, "probabilities", error)
        with pytest.raises(OutOfMemoryError, match="a batch of 3 sentences .*: lower --batch-size"):
            model.make_output_human_readable(output)


class TestSentencesWithoutAlignments:
    def batch(self, alignments=None):
        reader = WmtWordQeReader()
        instance = reader.text_to_instance(
            ["der", "Hund"], ["the", "dog"], alignments, ["OK", "OK"]
        )
        reader.apply_token_indexers(instance)
        return batch_of([instance])

    def test_a_model_that_takes_alignments_warns_once_that_it_ignores_the_source(self, caplog):
        caplog.set_level(logging.WARNING)
        model = make()
        model(**self.batch([]))  # that nothing is aligned is known
        assert not caplog.messages
        model.train()(**self.batch())
        model.eval()(**self.batch())
        (message,) = caplog.messages
        assert "the model ignores the words of the source" in message
        assert "`allennlp-nef align-words`" in message and "allennlp_nef[align]" in message

    def test_a_model_that_takes_none_does_not_warn(self, caplog):
        caplog.set_level(logging.WARNING)
        model = make()
        model.input_representation.without_alignments = None
        model(**self.batch())
        assert not caplog.messages


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


DIM = 4
INPUTS = torch.arange(24.0).view(2, 3, DIM)
MASK = torch.tensor([[True, True, True], [True, False, False]])


class Adding(TracedEncoder):
    """Adds a number, or the scores of the tag scorer."""

    _input_dim = _output_dim = DIM
    _bidirectional = False

    def __init__(self, number):
        super().__init__()
        self.number = number

    @overrides(check_signature=False)
    def encode(self, inputs, mask=None, trace=False, tag_scorer=None):
        output = inputs + self.number + (tag_scorer(inputs) if tag_scorer else 0)
        return output, f"trace {self.number}" if trace else None


@pytest.mark.parametrize("numbers", [[1], [1, 2, 3]])
def test_trace_is_that_of_the_last_encoder_if_wanted(numbers):
    encoder = ComposeEncoder([Adding(number) for number in numbers])
    for wanted, expected in ((True, f"trace {numbers[-1]}"), (False, None)):
        states, trace = run_encoder(encoder, INPUTS, MASK, wanted)
        assert torch.equal(states, INPUTS + sum(numbers))
        assert trace == expected


def test_tag_scorer_is_for_the_last_encoder_alone():
    encoder = ComposeEncoder([Adding(1), Adding(2)])
    states, _ = run_encoder(encoder, INPUTS, MASK, False, lambda output: 10 * output)
    assert torch.equal(states, INPUTS + 3 + 10 * (INPUTS + 1))


def test_easy_first_before_other_encoders_is_refused():
    """Its output is not scored, though the dimensions would fit."""
    easy_first = decoder(attention={"type": "easy_first"})  # from 6 to 8 numbers
    make(decoder=compose(lstm(6), easy_first))(**batch_of())
    with pytest.raises(ConfigurationError, match="easy_first"):
        make(decoder=compose(easy_first, {**lstm(8), "hidden_size": 4}))(**batch_of())


CRF = {"tag_head": {"type": "crf"}}
LEFT_TO_RIGHT = {"sketch_update": "single", "attention": {"type": "left_to_right"}}
DROPOUT = {"type": "dropout", "input_dim": 6, "dropout": 0.5}


@pytest.mark.parametrize(
    "options, title, step_name",
    [
        ({"decoder": decoder(num_steps=5)}, "NEF-F csoftmax, N = 5", "step"),
        (
            {"decoder": decoder(num_steps="length", **LEFT_TO_RIGHT), **CRF},
            "NEF-S left_to_right, N = L + CRF",
            "step",
        ),
        ({}, "lstm", None),
        (
            {"decoder": {"type": "pass_through", "input_dim": 6}, **CRF},
            "lstm + pass_through + CRF",
            None,
        ),
        (
            {"encoder": compose(lstm(), DROPOUT, lstm(6)), "tag_head": HEAD},
            "lstm + lstm + label attention",
            None,
        ),
        (
            {"encoder": label_attention(num_layers=2, attend_last=False), "tag_head": HEAD},
            "BiLSTM-LAN, 2 layers",
            "layer",
        ),
        (
            {"encoder": compose(lstm(), self_attention(6)), **CRF},
            "Position-aware self-attention + CRF",
            "word",
        ),
    ],
)
def test_title_is_that_of_the_last_encoder_with_a_trace(options, title, step_name):
    model = make(**options)
    assert (model.title, model.step_name, model.has_chunks) == (title, step_name, False)


def test_a_translation_without_words_is_not_free_of_errors():
    tagging = SimpleNamespace(error_free_probabilities=torch.tensor([0.9, 0.8, 0.7]))
    metadata = [TaggingMetadata(["a", "<EOS>"]), TaggingMetadata(["<EOS>"]), None]
    assert error_free_probabilities(tagging, metadata).tolist() == pytest.approx([0.9, 0, 0.7])
    assert error_free_probabilities(tagging, []) is tagging.error_free_probabilities
