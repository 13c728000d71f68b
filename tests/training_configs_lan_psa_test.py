"""The configs of label attention and self-attention: the settings of their papers, and the knobs of their tables."""

import pytest

from tests.small_experiment import CONFIGS, ROOT, config_of, evaluate, experiment, step

LAN = ("pos_lan", "ner_lan")
PSA = ("pos_psa", "ner_psa")
# The rows of the tables, as knobs of ner_psa.
PSA_VARIANTS = {
    "Table VI, no Psi": "attention_options:: { mask_self: false, gaussian: false, relative: false }",
    "Table VI, absolute": (
        "attention_options:: { mask_self: false, gaussian: false, relative: false, absolute: true }"
    ),
    "Table VII, no M": "attention_options:: { mask_self: false }",
    "Table VII, no P": "attention_options:: { relative: false }",
    "Table VII, no G": "attention_options:: { gaussian: false }",
    "Table VIII, no fusion": "order:: ['bilstm']",
    "Table VIII, the first": "order:: ['fusion', 'bilstm']",
    "Table VIII, the second": "order:: ['bilstm', 'fusion']",
    "Table IX, fusion first": "order:: ['fusion', 'fusion', 'bilstm']",
    "Table IX, BiLSTM first": "order:: ['bilstm', 'fusion', 'fusion']",
    "Table IX, softmax": "tag_head:: { type: 'softmax', average: 'none' }",
}


def snippet(name, knobs=""):
    return f"(import '{CONFIGS}/{name}.jsonnet') + {{ {knobs} }}"


def assert_each_changes_the_config(name, knobs):
    """Each of the knobs changes the config of this name."""
    changed = evaluate(*(snippet(name, knob) for knob in knobs))
    base = config_of(name)
    assert [knob for knob, config in zip(knobs, changed) if config == base] == []


def dimensions_of_words(model):
    """Dimensions of word embeddings, character embeddings, and the character LSTM in each direction."""
    embedders = model["input_representation"]["text_field_embedder"]["token_embedders"]
    letters = embedders["characters"]
    dims = letters["embedding"]["embedding_dim"], letters["encoder"]["hidden_size"]
    return (embedders["tokens"]["embedding_dim"], *dims)


@pytest.fixture
def build(tmp_path, monkeypatch):
    """`build(config)`: a `TrainModel`."""
    monkeypatch.chdir(ROOT)
    return lambda config: experiment(config, tmp_path / "run")


@pytest.mark.parametrize("name", [*LAN, "pos_lan_bilstm_softmax", "ner_lan_bilstm_crf"])
def test_settings_are_those_of_cui_and_zhang(name):
    config = config_of(name)
    model, trainer = config["model"], config["trainer"]
    assert dimensions_of_words(model) == (100, 30, 25)
    assert model["dropout"] == 0.5
    expected = {"type": "sgd", "lr": 0.01, "momentum": 0.9, "weight_decay": 1e-8}
    assert trainer["optimizer"] == expected
    assert trainer["learning_rate_scheduler"] == {"type": "inverse_time", "rate": 0.035}
    assert trainer["grad_norm"] == 5
    assert config["data_loader"]["batch_sampler"]["batch_size"] == 10
    if name in LAN:
        encoder = model["encoder"]
        assert (encoder["hidden_dim"], encoder["num_layers"], encoder["num_heads"]) == (400, 3, 5)
        assert encoder["attend_last"] is False
    else:
        assert (model["encoder"]["hidden_size"], model["encoder"]["num_layers"]) == (200, 1)


@pytest.mark.parametrize("name", PSA)
def test_settings_are_those_of_wei_et_al(name):
    config = config_of(name)
    model, trainer = config["model"], config["trainer"]
    assert dimensions_of_words(model) == (100, 30, 50)
    parts = model["encoder"]["encoders"]
    kinds = ["position_aware_self_attention", "dropout", "lstm", "dropout"]
    assert [part["type"] for part in parts] == [*kinds, "position_aware_self_attention"]
    assert parts[0]["dropout"] == parts[4]["dropout"] == 0.2
    assert parts[1]["dropout"] == parts[3]["dropout"] == 0.55
    assert parts[2]["hidden_size"] == 150
    rate = 0.01 if name == "pos_psa" else 0.015
    assert trainer["optimizer"] == {"type": "sgd", "lr": rate, "momentum": 0.9}
    assert trainer["learning_rate_scheduler"] == {"type": "inverse_time", "rate": 0.05}
    assert trainer["grad_norm"] == 5
    assert config["data_loader"]["batch_sampler"]["batch_size"] == 10
    assert model["tag_head"]["type"] == "crf"
    assert config["dataset_reader"].get("tag_scheme") == ("BIOUL" if name == "ner_psa" else None)


@pytest.mark.parametrize("name", LAN)
def test_unscaled_config_differs_in_scaled_only(name):
    expected = config_of(name)
    expected["model"]["tag_head"]["scaled"] = False
    assert config_of(f"{name}_unscaled") == expected


@pytest.mark.parametrize("title", PSA_VARIANTS)
def test_rows_of_wei_et_al_differ_from_the_full_network_and_learn(build, title):
    (config,) = evaluate(snippet("ner_psa", PSA_VARIANTS[title]))
    assert config["model"] != config_of("ner_psa")["model"]
    loss, changed = step(build(config).trainer)
    assert loss > 0
    assert any(name.startswith("encoder.") for name in changed)


@pytest.mark.parametrize("name", PSA)
def test_each_knob_of_psa_changes_the_config(name):
    knobs = [
        *("num_layers:: 2", "encoder_type:: 'gru'", "lstm_dim:: 9", "learning_rate:: 0.5"),
        *("bilstm_dropout:: 0.1", "attention_dropout:: 0.1", "learning_rate_decay:: 0.1"),
    ]
    assert_each_changes_the_config(name, knobs)


@pytest.mark.parametrize(
    "name, knobs, message",
    [
        ("ner_psa", "order:: ['fusion', 'BiLSTM']", "order: expected 'fusion' and 'bilstm'"),
        ("ner_psa", "order:: []", "order: expected 'fusion' and 'bilstm'"),
        ("pos_lan", "encoder_type:: 'gru'", "encoder_type: label attention has a BiLSTM"),
    ],
)
def test_wrong_value_of_a_knob_is_an_error(name, knobs, message):
    with pytest.raises(RuntimeError, match=message):
        evaluate(snippet(name, knobs))


@pytest.mark.parametrize("name", PSA)
def test_baseline_of_self_attention_differs_in_the_encoder_only(build, name):
    config, baseline = config_of(name), config_of(f"{name}_bilstm_crf")
    parts = config["model"].pop("encoder")["encoders"]
    assert baseline["model"].pop("encoder")["encoders"][1] == {**parts[2], "input_size": 200}
    assert config == baseline
    assert step(build(config_of(f"{name}_bilstm_crf")).trainer)[0] > 0


@pytest.mark.parametrize(
    "knobs, dim",
    [
        ("lstm_dim:: 15, num_heads:: 3", 30),
        ("num_layers:: 1", 400),
        ("embedding_dim:: 8, character_dim:: 4, character_lstm_dim:: 3", 400),
    ],
)
def test_dimension_of_label_embeddings_follows_from_the_knobs(build, knobs, dim):
    (config,) = evaluate(snippet("pos_lan", knobs))
    model = build(config).trainer.model
    assert model.encoder.label_table.weight.size(1) == dim


@pytest.mark.parametrize(
    "name", [*LAN, *PSA, "pos_lan_last_only", "ner_lan_unscaled", "pos_lan_nef_f_crf"]
)
def test_each_common_knob_changes_the_config(name):
    knobs = ["num_epochs:: 3", "patience:: 2", "batch_size:: 7", "dropout:: 0.1"]
    assert_each_changes_the_config(name, knobs)
