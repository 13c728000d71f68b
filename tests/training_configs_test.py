"""Every config builds and takes an optimizer step on the fixtures, as `allennlp train` would have it."""

import math
import re

import pytest

from allennlp_nef.predictors.archives import problems_of
from tests.small_experiment import (
    CONFIGS,
    ROOT,
    can_be_built,
    config_of,
    experiment,
    parts_of,
    step,
)

FIRST_LINES = {
    path.stem: path.read_text(encoding="utf-8").splitlines()[0]
    for path in sorted(CONFIGS.glob("*.jsonnet"))
}
# Without those that download their transformer; they have tests of their own.
LOCAL = [name for name in FIRST_LINES if not name.endswith("_transformer") and can_be_built(name)]

# The rows of the tables: the sketch update, the attention and the number of steps of the decoder.
TABLE_1 = {
    "pos_bilstm": None,
    "pos_easy_first": ("full", "easy_first", "length"),
    "pos_nef_s_csoftmax": ("single", "csoftmax", "length"),
    "pos_nef_f_softmax": ("full", "softmax", "length"),
    "pos_nef_f_sparsemax": ("full", "sparsemax", "length"),
    "pos_nef_f_csoftmax": ("full", "csoftmax", "length"),
}
TABLE_2 = {
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
}
TABLE_3 = {
    "qe_bilstm": None,
    "qe_nef_s": ("single", "csoftmax", 5),
    "qe_nef_s_length": ("single", "csoftmax", "length"),
    "qe_nef_f": ("full", "csoftmax", 5),
    "qe_nef_f_length": ("full", "csoftmax", "length"),
}
TABLE_4 = {
    "ner_nef_f_crf_5_no_concat": ("full", "csoftmax", 5),
    "ner_uniform_crf_5": ("full", "uniform", 5),
    "ner_easy_first_crf_5": ("full", "easy_first", 5),
    "ner_easy_first_crf_length": ("full", "easy_first", "length"),
    "ner_left_to_right_crf_length": ("full", "left_to_right", "length"),
    "ner_right_to_left_crf_length": ("full", "right_to_left", "length"),
}
OTHERS = {
    "pos_nef_f_csparsemax": ("full", "csparsemax", "length"),
    "pos_nef_f_learned_bounds": ("full", "csoftmax", "length"),
    "pos_nef_f_learned_halting": ("full", "csoftmax", "length"),
    "ner_nef_f_crf_5_csparsemax": ("full", "csparsemax", 5),
    "ner_nef_f_crf_5_learned_bounds": ("full", "csoftmax", 5),
    "qe_nef_f_crf": ("full", "csoftmax", 5),
    "qe_nef_f_tensorboard": ("full", "csoftmax", 5),
    "ner_nef_f_crf_5_gru": ("full", "csoftmax", 5),
    "ner_nef_f_crf_5_stacked": ("full", "csoftmax", 5),
}
TASKS = {"pos": (0.2, "+accuracy"), "ner": (0.3, "+f1-overall"), "qe": (0.1, "+f1_mult")}


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_first_lines_name_the_table_of_each_row(number):
    rows = globals()[f"TABLE_{number}"]
    named = {name for name, line in FIRST_LINES.items() if line.startswith(f"// Table {number}")}
    assert named == {*rows}


def test_first_lines_name_a_table_section_or_figure_of_the_paper():
    for name, line in FIRST_LINES.items():
        assert re.match(r"// .*\b(Table|Tables|Section|Figure) [\dIVX]", line), f"{name}: {line}"


def test_archives_of_each_config_need_no_trust():
    for name in filter(can_be_built, FIRST_LINES):
        assert problems_of(config_of(name)) == {}, name


@pytest.mark.parametrize("name", LOCAL)
def test_each_part_learns_in_one_step_and_the_validation_metric_is_finite(
    name, tmp_path, monkeypatch
):
    monkeypatch.chdir(ROOT)
    config = config_of(name)
    trainer = experiment(config, tmp_path).trainer
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
    for each in wanted if isinstance(wanted, list) else [wanted]:
        assert each[0] in "+-"
        assert each[1:] == "loss" or math.isfinite(metrics[each[1:]])


@pytest.mark.parametrize("name", [*TABLE_1, *TABLE_2, *TABLE_3, *TABLE_4, *OTHERS])
def test_settings_are_those_of_section_5_of_the_paper(name):
    """Martins & Kreutzer (2017). Defaults that change later must not change these."""
    params = config_of(name)
    model, trainer = params["model"], params["trainer"]
    dropout, validation_metric = TASKS[name.split("_")[0]]
    assert model["dropout"] == dropout
    assert model["encoder"]["hidden_size"] == 50 and model["encoder"]["bidirectional"]
    assert model["tag_head"]["type"] == ("crf" if "_crf" in name else "softmax")
    if name.startswith("ner_"):
        assert model["tag_head"].get("constraints") == ("BIO" if "_crf" in name else None)

    decoder = model.get("decoder")
    row = {**TABLE_1, **TABLE_2, **TABLE_3, **TABLE_4, **OTHERS}[name]
    if row is None:
        assert decoder is None
    else:
        update, attention, steps = row
        assert decoder["type"] == "neural_easy_first"
        assert decoder["sketch_update"] == update
        assert decoder["attention"] == {"type": attention}
        assert decoder["num_steps"] == steps
        assert decoder["context_size"] == 2
        assert decoder["preattention_dim"] == decoder["sketch_dim"] == 50
        assert decoder["dropout"] == dropout
        assert decoder.get("concat_input", True) is not name.endswith("_no_concat")

    assert params["dataset_reader"]["max_tokens"] == 49
    assert "max_tokens" not in params["validation_dataset_reader"]
    assert trainer["optimizer"]["type"] == "adagrad" and trainer["grad_norm"] == 5
    assert trainer["num_epochs"] == 20 and trainer["validation_metric"] == validation_metric


@pytest.mark.parametrize("name", [*TABLE_1, *TABLE_2, *TABLE_3, *TABLE_4, *OTHERS])
def test_dimensions_of_the_input_are_those_of_the_paper(name):
    """Section 5.1: 64 for the word, 50 for prefixes and 50 for suffixes; Section 5.3: 64 a word."""
    params = config_of(name)
    representation = params["model"]["input_representation"]
    min_count = params["vocabulary"]["min_count"]
    if name.startswith("qe"):
        for side in ("source", "target"):
            tokens = representation[f"{side}_embedder"]["token_embedders"]["tokens"]
            assert tokens["embedding_dim"] == 64
            assert min_count[f"{side}_tokens"] == 2
        return
    embedders = representation["text_field_embedder"]["token_embedders"]
    assert set(embedders) == {"tokens", "affixes"}
    assert embedders["tokens"]["embedding_dim"] == 64
    assert embedders["affixes"]["embedding_dim"] == 50
    assert params["model"]["encoder"]["input_size"] == 164
    # Words and affixes seen once in training, which the development data do not add to, are unknown.
    assert set(min_count.values()) == {2} and len(min_count) == 9
    assert params["datasets_for_vocab_creation"] == ["train"]


def test_settings_of_the_character_model_are_those_of_lample_et_al():
    """Sections 4 and 5 of Lample et al. (2016)."""
    params = config_of("ner_char_bilstm_crf")
    model, trainer = params["model"], params["trainer"]
    representation = model["input_representation"]
    embedders = representation["text_field_embedder"]["token_embedders"]
    assert embedders["tokens"]["embedding_dim"] == 100
    assert embedders["characters"]["embedding"]["embedding_dim"] == 25
    lstm = embedders["characters"]["encoder"]
    assert (lstm["type"], lstm["hidden_size"], lstm["bidirectional"]) == ("lstm", 25, True)
    lstm = model["encoder"]
    assert (lstm["type"], lstm["hidden_size"], lstm["bidirectional"]) == ("lstm", 100, True)
    assert lstm["input_size"] == 150
    assert representation["rare_words"] == {"probability": 0.5}
    assert representation["dropout"] == 0.5 and model["dropout"] == 0
    assert model["tag_head"] == {"type": "crf", "constraints": "BIOUL"} and "decoder" not in model
    assert params["dataset_reader"]["tag_scheme"] == "BIOUL"
    assert params["dataset_reader"]["max_tokens"] is None
    assert params["data_loader"]["batch_sampler"]["batch_size"] == 1
    assert trainer["optimizer"] == {"type": "sgd", "lr": 0.01} and trainer["grad_norm"] == 5


@pytest.mark.parametrize(
    ("name", "difference"),
    [
        ("gru", {"type": "gru"}),
        ("stacked", {"num_layers": 2, "dropout": 0.3}),
    ],
)
def test_variants_differ_in_their_encoder(name, difference):
    base, variant = config_of("ner_nef_f_crf_5"), config_of(f"ner_nef_f_crf_5_{name}")
    base["model"]["encoder"].update(difference)
    assert variant == base
