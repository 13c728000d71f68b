"""Every config takes a training step, and has the settings of its paper."""

import math
import re

import pytest

from tests.small_experiment import (
    CONFIGS,
    ROOT,
    can_be_built,
    config_of,
    experiment,
    parts_of,
    step,
    with_encoder,
)

FIRST_LINES = {
    path.stem: path.read_text(encoding="utf-8").splitlines()[0]
    for path in sorted(CONFIGS.glob("*.jsonnet"))
}
# The rows of the tables: the sketch update, the attention and the number of steps of the decoder.
TABLES = {
    1: {
        "pos_bilstm": None,
        "pos_easy_first": ("full", "easy_first", "length"),
        "pos_nef_s_csoftmax": ("single", "csoftmax", "length"),
        "pos_nef_f_softmax": ("full", "softmax", "length"),
        "pos_nef_f_sparsemax": ("full", "sparsemax", "length"),
        "pos_nef_f_csoftmax": ("full", "csoftmax", "length"),
    },
    2: {
        "ner_bilstm": None,
        "ner_nef_s_5": ("single", "csoftmax", 5),
        "ner_nef_f_5": ("full", "csoftmax", 5),
        "ner_nef_f_10": ("full", "csoftmax", 10),
        "ner_nef_f_length": ("full", "csoftmax", "length"),
        "ner_bilstm_crf": None,
        "ner_nef_s_crf_5": ("single", "csoftmax", 5),
        "ner_nef_f_crf_5": ("full", "csoftmax", 5),
        "ner_nef_f_crf_10": ("full", "csoftmax", 10),
        "ner_nef_f_crf_length": ("full", "csoftmax", "length"),
    },
    3: {
        "qe_bilstm": None,
        "qe_nef_s": ("single", "csoftmax", 5),
        "qe_nef_s_length": ("single", "csoftmax", "length"),
        "qe_nef_f": ("full", "csoftmax", 5),
        "qe_nef_f_length": ("full", "csoftmax", "length"),
    },
    4: {
        "ner_nef_f_crf_5_no_concat": ("full", "csoftmax", 5),
        "ner_uniform_crf_5": ("full", "uniform", 5),
        "ner_easy_first_crf_5": ("full", "easy_first", 5),
        "ner_easy_first_crf_length": ("full", "easy_first", "length"),
        "ner_left_to_right_crf_length": ("full", "left_to_right", "length"),
        "ner_right_to_left_crf_length": ("full", "right_to_left", "length"),
    },
}
ROWS = {name: row for table in TABLES.values() for name, row in table.items()}
TASKS = {"pos": (0.2, "+accuracy"), "ner": (0.3, "+f1-overall"), "qe": (0.1, "+f1_mult")}


@pytest.mark.parametrize("name", [name for name in FIRST_LINES if can_be_built(name)])
def test_each_part_learns_in_one_step_and_the_validation_metric_is_finite(
    name, tmp_path, monkeypatch, xlm_roberta
):
    monkeypatch.chdir(ROOT)
    # The weights that `_finetuned` begins with are for the encoder that it names.
    config = config_of(name)
    config = config if name.endswith("_finetuned") else with_encoder(config, xlm_roberta)
    trainer = experiment(config, tmp_path / "run").trainer
    loss, changed = step(trainer)
    assert math.isfinite(loss) and loss > 0
    # A single parameter may have no effect on one batch, but no part of the model.
    assert parts_of(changed) == parts_of(name for name, _ in trainer.model.named_parameters())

    model = trainer.model.eval()
    model.get_metrics(reset=True)
    for batch in trainer._validation_data_loader:
        model(**batch)
    metrics = model.get_metrics(reset=True)
    wanted = config["trainer"]["validation_metric"]
    for metric in wanted if isinstance(wanted, list) else [wanted]:
        assert math.isfinite(metrics[metric[1:]])


def test_first_lines_name_the_rows_of_the_paper():
    for number, rows in TABLES.items():
        start = f"// Table {number}"
        assert {name for name, line in FIRST_LINES.items() if line.startswith(start)} == {*rows}
    for name in FIRST_LINES:
        comment = (CONFIGS / f"{name}.jsonnet").read_text(encoding="utf-8").split("\n(")[0]
        known = re.search(
            r"\b(Table|Tables|Section|Figure) [\dIVX]|et al\.|pretrained encoder", comment
        )
        assert known, name


@pytest.mark.parametrize("name", ROWS)
def test_settings_are_those_of_section_5_of_the_paper(name):
    """Martins & Kreutzer (2017)."""
    params = config_of(name)
    model, trainer = params["model"], params["trainer"]
    dropout, validation_metric = TASKS[name.split("_")[0]]
    assert model["dropout"] == dropout
    assert model["encoder"]["hidden_size"] == 50 and model["encoder"]["bidirectional"]
    assert model["tag_head"]["type"] == ("crf" if "_crf" in name else "softmax")
    assert model["tag_head"].get("constraints") == ("BIO" if "_crf" in name else None)

    decoder, row = model.get("decoder"), ROWS[name]
    if row is None:
        assert decoder is None
    else:
        assert decoder["type"] == "neural_easy_first" and decoder["context_size"] == 2
        assert (decoder["sketch_update"], decoder["attention"]["type"], decoder["num_steps"]) == row
        assert decoder["preattention_dim"] == decoder["sketch_dim"] == 50
        assert decoder["dropout"] == dropout
        assert decoder.get("concat_input", True) is not name.endswith("_no_concat")

    assert params["dataset_reader"]["max_tokens"] == 49
    assert "max_tokens" not in params["validation_dataset_reader"]
    assert trainer["optimizer"]["type"] == "adagrad" and trainer["grad_norm"] == 5
    assert trainer["num_epochs"] == 20 and trainer["validation_metric"] == validation_metric

    # Section 5.1: 64 for the word, 50 for prefixes and 50 for suffixes; Section 5.3: 64 a word.
    min_count = params["vocabulary"]["min_count"]
    assert set(min_count.values()) == {2} and params["datasets_for_vocab_creation"] == ["train"]
    if name.startswith("qe"):
        assert model["encoder"]["input_size"] == 6 * 64
    else:
        embedders = model["text_field_embedder"]["token_embedders"]
        dims = {name: each["embedding_dim"] for name, each in embedders.items()}
        assert dims == {"tokens": 64, "affixes": 50}
        assert model["encoder"]["input_size"] == 164 and len(min_count) == 9


def dimensions_of_words(model):
    """Dimensions of word embeddings, character embeddings, and the character LSTM in each direction."""
    embedders = model["text_field_embedder"]["token_embedders"]
    letters = embedders["characters"]
    dims = letters["embedding"]["embedding_dim"], letters["encoder"]["hidden_size"]
    return (embedders["tokens"]["embedding_dim"], *dims)


def test_settings_of_the_character_model_are_those_of_lample_et_al():
    """Sections 4 and 5 of Lample et al. (2016)."""
    params = config_of("ner_char_bilstm_crf")
    model = params["model"]
    assert dimensions_of_words(model) == (100, 25, 25)
    assert (model["encoder"]["input_size"], model["encoder"]["hidden_size"]) == (150, 100)
    assert (model["input_dropout"], model["dropout"]) == (0.5, 0)
    assert model["tag_head"] == {"type": "crf", "constraints": "BIOUL"} and "decoder" not in model
    for reader in ("dataset_reader", "validation_dataset_reader"):
        assert params[reader]["tag_scheme"] == "BIOUL" and "max_tokens" not in params[reader]
    assert params["trainer"]["optimizer"] == {"type": "sgd", "lr": 0.01}


@pytest.mark.parametrize(
    "name", ["pos_lan", "ner_lan", "pos_lan_bilstm_softmax", "ner_lan_bilstm_crf"]
)
def test_settings_are_those_of_cui_and_zhang(name):
    config = config_of(name)
    model, trainer = config["model"], config["trainer"]
    assert dimensions_of_words(model) == (100, 30, 25) and model["dropout"] == 0.5
    expected = {"type": "sgd", "lr": 0.01, "momentum": 0.9, "weight_decay": 1e-8}
    assert trainer["optimizer"] == expected and trainer["grad_norm"] == 5
    assert trainer["learning_rate_scheduler"] == {"type": "inverse_time", "rate": 0.035}
    encoder = model["encoder"]
    if name.endswith("_lan"):
        assert (encoder["hidden_dim"], encoder["num_layers"], encoder["num_heads"]) == (400, 3, 5)
    else:
        assert (encoder["hidden_size"], encoder["num_layers"]) == (200, 1)


@pytest.mark.parametrize(("name", "rate"), [("pos_psa", 0.01), ("ner_psa", 0.015)])
def test_settings_are_those_of_wei_et_al(name, rate):
    config = config_of(name)
    model, trainer = config["model"], config["trainer"]
    assert dimensions_of_words(model) == (100, 30, 50)
    parts = model["encoder"]["encoders"]
    kinds = ["position_aware_self_attention", "dropout", "lstm", "dropout"]
    assert [part["type"] for part in parts] == [*kinds, "position_aware_self_attention"]
    assert [parts[i]["dropout"] for i in (0, 1, 3, 4)] == [0.2, 0.55, 0.55, 0.2]
    assert parts[2]["hidden_size"] == 150
    assert trainer["optimizer"] == {"type": "sgd", "lr": rate, "momentum": 0.9}
    assert trainer["learning_rate_scheduler"] == {"type": "inverse_time", "rate": 0.05}
    assert model["tag_head"]["type"] == "crf"
