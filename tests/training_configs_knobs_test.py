"""The knobs of `training_configs/parts`: each changes the config, and dimensions follow from them."""

import math

import pytest
import torch
from allennlp.common.checks import ConfigurationError

from tests.small_experiment import CONFIGS, ROOT, evaluate, experiment, parts_of, step

PARTS = CONFIGS / "parts"
NEF = "self.neural_easy_first('full', 2)"
# Values other than the default.
WORDS = {
    "embedding_dim": ["6", "0"],
    "pretrained_file": ["'vectors.txt'"],
    "affix_dim": ["7", "0"],
    "case_dim": ["3"],
    "character_dim": ["5"],
    "character_lstm_dim": ["4"],
    "dropout": ["0.4"],
    "encoder_type": ["'gru'"],
    "lstm_dim": ["9"],
    "num_layers": ["2"],
    "min_count": ["1"],
    "batch_size": ["4"],
    "optimizer": ["{ type: 'adam' }"],
    "decoder": [NEF],
    "num_epochs": ["2"],
    "patience": ["2"],
}
SENTENCE = {
    **WORDS,
    "unknown_probability": ["0.5"],
    "max_tokens": ["null"],
    "input_dropout": ["0.1"],
    "tag_head": ["{ type: 'crf' }"],
}
CLASSES = {
    **WORDS,
    "affix_dim": ["7"],
    "encoder_type": ["'gru'", "'rnn'"],
    "lowercase": ["!super.lowercase"],
    "bidirectional": ["false"],
    "recurrent_dropout": ["0.1"],
    "pooling": ["'attention'"],
}
KNOBS = {
    "pos": {**SENTENCE, "column": ["'xpos'", "'feats'"]},
    "ner": {**SENTENCE, "tag_scheme": ["'BIOUL'"]},
    "trec": {**CLASSES, "fine_labels": ["true"]},
    "sst": {**CLASSES, "layout": ["'blank'"]},
    "sick": {
        **CLASSES,
        "relatedness": ["true"],
        "parses": ["'parses'"],
        "names": ["['a', 'b']"],
        "hidden_dim": ["7"],
    },
    "parse": {
        **WORDS,
        "affix_dim": ["7"],
        "num_layers": ["1"],
        "min_count": ["2"],
        "tag_dim": ["7", "0"],
        "word_dropout": ["0"],
        "hidden_dim": ["7"],
        "biaffine": ["true"],
        "projective": ["false"],
        "column": ["'xpos'"],
    },
}
# Another knob that a knob needs to have an effect.
NEEDED = {"character_lstm_dim": "character_dim: 5", "case_dim": "affix_dim: 5"}
# Hidden fields that are no knobs: a config may use or replace them.
BUILDERS = {
    *("token_indexers", "token_embedders", "input_dim", "encoder", "neural_easy_first"),
    *("reader", "metrics", "validation_metric", "crf"),
    *("encoders", "model_type", "sorting_keys", "states_encoder", "tag_embedding"),
    "known_fields",
}


def snippet(task, *knobs):
    return f"(import '{PARTS}/{task}.libsonnet') " + " ".join(f"{{ {some} }}" for some in knobs)


@pytest.fixture
def build(tmp_path, monkeypatch):
    """`build(task, *knobs)`: a `TrainModel`; later knobs take precedence."""
    monkeypatch.chdir(ROOT)

    def make(task, *knobs):
        (config,) = evaluate(snippet(task, *knobs))
        return experiment(config, tmp_path / "run")

    return make


@pytest.mark.parametrize("task", KNOBS)
def test_table_above_lists_all_knobs(task):
    fields = f"""local fields = {snippet(task)};
    std.setDiff(std.objectFieldsAll(fields), std.objectFields(fields))"""
    (hidden,) = evaluate(fields)
    assert {*hidden} - BUILDERS == set(KNOBS[task])


@pytest.mark.parametrize("task", KNOBS)
def test_each_value_of_a_knob_changes_the_config(task):
    values = [(name, value) for name in KNOBS[task] for value in KNOBS[task][name]]
    needed = [NEEDED.get(name, "") for name, _ in values]
    default = evaluate(*(snippet(task, some) for some in needed))
    changed = evaluate(
        *(snippet(task, some, f"{n}: {value}") for some, (n, value) in zip(needed, values))
    )
    unchanged = [value for value, *both in zip(values, default, changed) if both[0] == both[1]]
    assert unchanged == []


@pytest.mark.parametrize(
    ("task", "knobs", "message"),
    [
        ("ner", "case_dim: 2, affix_dim: 0", "case_dim: needs affix_dim"),
        ("ner", "pretrained_file: 'a', embedding_dim: 0", "pretrained_file: needs embedding_dim"),
        ("ner", "unknown_probability: 1, embedding_dim: 0", "unknown_probability: needs embedding"),
        ("trec", "recurrent_dropout: 0.1, encoder_type: 'gru'", "recurrent_dropout: needs a BiLST"),
        ("trec", f"decoder: {NEF}, bidirectional: false", "decoder: needs bidirectional"),
        ("sick", f"decoder: {NEF}, pooling: 'state'", "decoder: needs the pooling 'attention'"),
    ],
)
def test_knobs_that_contradict_each_other_are_an_error(task, knobs, message):
    with pytest.raises(RuntimeError, match=message):
        evaluate(snippet(task, knobs))


def with_parts(first, *others):
    return " + ".join(f"(import '{PARTS}/{name}.libsonnet')" for name in (first, *others))


@pytest.mark.parametrize(
    ("parts", "knob"),
    [
        *((["ner"], f"{name}: 7") for name in ("lstm_dimm", "num_epoch", "column")),
        (["pos"], "tag_scheme:: 'BIOUL'"),
        (["trec"], "max_tokens:: 7"),
        (["qe"], "num_epochs:: 7"),
        (["pos", "lan"], "num_head:: 7"),
        (["ner", "psa"], "num_heads:: 7"),
        *(
            (["ner", "transformer"], f"{name}:: {value}")
            for name, value in [
                ("transformer_layers", 12),
                ("frozen_layers", 1),
                ("layer_decay", 0.5),
                ("last_layers", 2),
                ("pooling", "'mean'"),
                ("warmup", 0.2),
            ]
        ),
        # Knobs of qe that change nothing with a pretrained encoder.
        *(
            (["qe_transformer"], f"{name}:: 7")
            for name in ("pool", "affix_dim", "embedding_dim", "lstm_dim", "min_count")
        ),
    ],
    ids=str,
)
def test_a_knob_that_a_part_does_not_have_or_use_is_an_error_that_names_all(parts, knob):
    name = knob.partition(":")[0]
    with pytest.raises(RuntimeError, match=f"{name}: expected one of the knobs .*, batch_size, "):
        evaluate(f"{with_parts(*parts)} + {{ {knob} }}")


def test_fields_of_allennlp_and_knobs_of_joined_parts_are_taken():
    knobs = "random_seed: 7, test_data_path: 'a', evaluate_on_test: true, transformer_dim: 6, lstm_dim: 5"
    (config,) = evaluate(f"{with_parts('pos', 'transformer')} + {{ {knobs}, decoder: {NEF} }}")
    assert config["random_seed"] == 7
    assert config["model"]["encoder"]["input_size"] == 6
    assert config["model"]["decoder"]["input_dim"] == 10


def test_a_parser_without_tags_learns(build):
    trainer = build("parse", "tag_dim: 0, lstm_dim: 4").trainer
    assert trainer.model.pos_tag_embedding is None
    loss, changed = step(trainer)
    assert math.isfinite(loss) and "encoder" in parts_of(changed)


def test_variational_dropout_learns(build):
    trainer = build("trec", "recurrent_dropout: 0.3, lstm_dim: 4").trainer
    assert type(trainer.model._seq2vec_encoder).__name__.startswith("StackedBidirectional")
    loss, changed = step(trainer)
    assert math.isfinite(loss) and "_seq2vec_encoder" in parts_of(changed)


# Decoder, tag head, and the dimension of what the tag head gets.
DECODERS = [
    ("null", "{ type: 'softmax' }", 10),
    ("self.neural_easy_first('single', 2)", "{ type: 'crf' }", 60),
    ("self.neural_easy_first('full', 'length')", "{ type: 'softmax' }", 60),
]


class TestDimensionsFollowFromTheKnobs:
    @pytest.mark.parametrize("task", ["pos", "ner"])
    @pytest.mark.parametrize(
        ("knobs", "input_dim", "decoder"),
        [
            ("", 26, 0),
            ("affix_dim: 0", 6, 1),
            ("case_dim: 3", 29, 2),
            ("character_dim: 2, character_lstm_dim: 4", 34, 0),
            ("embedding_dim: 0, affix_dim: 0, character_dim: 2, character_lstm_dim: 4", 8, 1),
        ],
    )
    def test_of_sentence_taggers(self, build, task, knobs, input_dim, decoder):
        decoder, tag_head, states_dim = DECODERS[decoder]
        trainer = build(
            task,
            "embedding_dim: 6, affix_dim: 10, lstm_dim: 5, dropout: 0.1",
            f"decoder: {decoder}, tag_head: {tag_head}",
            knobs,
        ).trainer
        self.check(trainer, input_dim, states_dim, 0.1)

    @pytest.mark.parametrize("neighbours", [True, False])
    @pytest.mark.parametrize(("decoder", "tag_head", "states_dim"), DECODERS)
    def test_of_quality_estimators(self, build, neighbours, decoder, tag_head, states_dim):
        trainer = build(
            "qe",
            "embedding_dim: 6, lstm_dim: 5, dropout: 0.2, bad_weight: 3, min_count: 1, "
            f"neighbours: {str(neighbours).lower()}, decoder: {decoder}, "
            f"tag_head_type: ({tag_head}).type",
        ).trainer
        self.check(trainer, 36 if neighbours else 12, states_dim, 0.2)

    @staticmethod
    def check(trainer, input_dim, states_dim, dropout):
        model = trainer.model
        assert model.input_representation.get_output_dim() == input_dim
        assert model.encoder.get_input_dim() == input_dim
        assert model.encoder.get_output_dim() == 10
        assert model.tag_head.input_dim == states_dim
        assert model.dropout.p == dropout
        loss, changed = step(trainer)
        assert math.isfinite(loss)
        assert changed


@pytest.mark.parametrize(
    ("encoder", "dim"),
    [
        ("encoder_type: 'gru'", 100),
        ("num_layers: 2", 100),
        (
            "encoder: { type: 'stacked_bidirectional_lstm', input_size: 164, hidden_size: 7, num_layers: 2 }",
            14,
        ),
    ],
)
def test_encoder_has_the_dimension_of_its_knobs_and_learns(build, encoder, dim):
    trainer = build("ner", encoder).trainer
    assert trainer.model.encoder.get_output_dim() == dim
    loss, changed = step(trainer)
    assert math.isfinite(loss)
    assert parts_of(changed) >= {"encoder", "tag_head"}


class TestPretrainedFile:
    VECTORS = {"Lisbon": [1.0, 2.0, 3.0], "Zanzibar": [4.0, 5.0, 6.0]}

    @pytest.fixture(params=["", "2 3\n"], ids=["GloVe", "word2vec"])
    def path(self, request, tmp_path):
        lines = [" ".join([word, *map(str, vector)]) for word, vector in self.VECTORS.items()]
        path = tmp_path / "vectors.txt"
        path.write_text(request.param + "\n".join(lines) + "\n", encoding="utf-8")
        return path

    def test_words_with_a_vector_are_in_the_vocabulary_and_start_with_it(self, build, path):
        model = build("ner", f"pretrained_file: '{path}', embedding_dim: 3").model
        vocab = model.vocab
        table = model.input_representation.text_field_embedder.token_embedder_tokens.weight
        for word, vector in self.VECTORS.items():
            index = vocab.get_token_to_index_vocabulary()[word]
            assert table[index].tolist() == vector
        assert "Houses" not in vocab.get_token_to_index_vocabulary()  # once, in training


def test_rare_words_that_are_not_in_the_vocabulary_are_an_error(build):
    with pytest.raises(ConfigurationError, match="lower vocabulary.min_count of 'tokens'"):
        build("ner", "unknown_probability: 0.5")


def test_some_rare_words_become_unknown(build):
    trainer = build("ner", "unknown_probability: 0.5, min_count: 1").trainer
    rare_words = trainer.model.input_representation.rare_words
    assert rare_words.probability == 0.5
    batch = next(iter(trainer.data_loader))["tokens"]
    torch.manual_seed(0)
    before, after = (tokens["tokens"]["tokens"] for tokens in (batch, rare_words(batch)))
    assert (before != 1).all()
    assert 0 < (after == 1).sum() < (before != 0).sum()
