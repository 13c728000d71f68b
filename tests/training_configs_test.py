"""Every config takes a training step, has the settings of its paper, and follows its knobs."""

import math
import re

import pytest
import torch
from allennlp.common.checks import ConfigurationError

from allennlp_nef.cli.terminal import error_message
from allennlp_nef.predictors.archives import problems_of
from tests.small_experiment import (
    CONFIGS,
    ROOT,
    can_be_built,
    config_of,
    evaluate,
    experiment,
    load_configs,
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


@pytest.fixture(scope="module", autouse=True)
def configs():
    load_configs(LOCAL)


@pytest.fixture
def build(tmp_path, monkeypatch):
    """`build(config)`: a `TrainModel`."""
    monkeypatch.chdir(ROOT)
    return lambda config: experiment(config, tmp_path / "run")


def snippet(names, knobs=""):
    """The parts or configs of some names, added up, with knobs."""
    paths = [path for name in names.split() for path in CONFIGS.rglob(f"{name}.*sonnet")]
    return " + ".join(f"(import '{path}')" for path in paths) + f" + {{ {knobs} }}"


@pytest.mark.parametrize("name", LOCAL)
def test_each_part_learns_in_one_step_and_the_validation_metric_is_finite(name, build):
    config = config_of(name)
    trainer = build(config).trainer
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
        assert metric[0] in "+-"
        assert metric[1:] == "loss" or math.isfinite(metrics[metric[1:]])
    assert problems_of(config) == {}  # its archive needs no trust


def test_first_lines_name_the_rows_of_the_paper():
    for number, rows in TABLES.items():
        start = f"// Table {number}"
        assert {name for name, line in FIRST_LINES.items() if line.startswith(start)} == {*rows}
    for name, line in FIRST_LINES.items():
        if name.endswith("_transformer"):  # in no paper
            continue
        assert re.match(r"// .*\b(Table|Tables|Section|Figure) [\dIVX]", line), f"{name}: {line}"


def test_experiments_of_the_benchmarks_are_configs():
    paths = sorted((ROOT / "benchmarks" / "configs").glob("*.jsonnet"))
    assert all("model" in config for config in evaluate(*(f"import '{path}'" for path in paths)))


@pytest.mark.parametrize("name", ROWS)
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

    decoder, row = model.get("decoder"), ROWS[name]
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

    # Section 5.1: 64 for the word, 50 for prefixes and 50 for suffixes; Section 5.3: 64 a word. Words and affixes seen
    # once in training, which the development data do not add to, are unknown.
    representation, min_count = model["input_representation"], params["vocabulary"]["min_count"]
    assert set(min_count.values()) == {2} and params["datasets_for_vocab_creation"] == ["train"]
    if name.startswith("qe"):
        for side in ("source", "target"):
            embedders = representation[f"{side}_embedder"]["token_embedders"]
            assert embedders["tokens"]["embedding_dim"] == 64
        return
    embedders = representation["text_field_embedder"]["token_embedders"]
    assert {name: each["embedding_dim"] for name, each in embedders.items()} == {
        "tokens": 64,
        "affixes": 50,
    }
    assert model["encoder"]["input_size"] == 164 and len(min_count) == 9


def test_settings_of_the_character_model_are_those_of_lample_et_al():
    """Sections 4 and 5 of Lample et al. (2016)."""
    params = config_of("ner_char_bilstm_crf")
    model, trainer = params["model"], params["trainer"]
    representation = model["input_representation"]
    assert dimensions_of_words(model) == (100, 25, 25)
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


def dimensions_of_words(model):
    """Dimensions of word embeddings, character embeddings, and the character LSTM in each direction."""
    embedders = model["input_representation"]["text_field_embedder"]["token_embedders"]
    letters = embedders["characters"]
    dims = letters["embedding"]["embedding_dim"], letters["encoder"]["hidden_size"]
    return (embedders["tokens"]["embedding_dim"], *dims)


@pytest.mark.parametrize(
    "name", ["pos_lan", "ner_lan", "pos_lan_bilstm_softmax", "ner_lan_bilstm_crf"]
)
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
    encoder = model["encoder"]
    if name.endswith("_lan"):
        assert (encoder["hidden_dim"], encoder["num_layers"], encoder["num_heads"]) == (400, 3, 5)
        assert encoder["attend_last"] is False
    else:
        assert (encoder["hidden_size"], encoder["num_layers"]) == (200, 1)


@pytest.mark.parametrize("name", ["pos_psa", "ner_psa"])
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


NEF = "self.neural_easy_first('full', 2)"
# Values other than the default of each knob of a builder.
KNOBS = {
    "ner": """embedding_dim: 6; embedding_dim: 0; pretrained_file: 'vectors.txt'; affix_dim: 7; affix_dim: 0;
        case_dim: 3; character_dim: 5; character_dim: 5, character_lstm_dim: 4; dropout: 0.4; encoder_type:
        'gru'; lstm_dim: 9; num_layers: 2; min_count: 1; batch_size: 4; optimizer: { type: 'adam' };
        decoder: {}; num_epochs: 2; patience: 2; unknown_probability: 0.5; max_tokens: null; input_dropout:
        0.1; tag_head: { type: 'crf' }; tag_scheme: 'BIOUL'""",
    "pos": "column: 'xpos'",
    "trec": """lowercase: true; encoder_type: 'rnn'; bidirectional: false; recurrent_dropout: 0.1; pooling:
        'attention'; fine_labels: true""",
    "sst": "layout: 'blank'",
    "sick": "lowercase: false; relatedness: true; parses: 'parses'; names: ['a', 'b']; hidden_dim: 7",
    "parse": """num_layers: 1; min_count: 2; tag_dim: 7; tag_dim: 0; word_dropout: 0; hidden_dim: 7; biaffine: true;
        projective: false; column: 'xpos'""",
    "qe": """embedding_dim: 6; lstm_dim: 9; dropout: 0.4; bad_weight: 1; min_count: 1; affix_dim: 7; neighbours:
        false; batch_size: 4; optimizer: { type: 'adam' }; embedding_l2: 0.1; decoder: {}; tag_head_type:
        'crf'; alignment_dropout: 0.1; word_similarity: true; sentence_scores: true; max_tokens: null;
        average_decay: 0.9; weighting: {}; tagged: 'gaps'; eos: true; error_spans: true; aligner: { layer: 6 }""",
    "pos_lan": "num_layers: 2; num_heads: 2; learning_rate_decay: 0.1; dropout: 0.1",
    # The last ones are rows of Tables VI to IX of Wei et al.
    "ner_psa": """num_layers: 2; encoder_type: 'gru'; lstm_dim: 9; learning_rate: 0.5; bilstm_dropout: 0.1;
        attention_dropout: 0.1; learning_rate_decay: 0.1; attention_options: { mask_self: false }; order:
        ['bilstm']; attention_options: { relative: false }; attention_options: { gaussian: false }; order:
        ['fusion', 'bilstm']""",
}


@pytest.mark.parametrize("builder", KNOBS)
def test_each_knob_changes_the_config(builder):
    values = [value.strip().replace(": ", ":: ", 1) for value in KNOBS[builder].split(";")]
    base, *changed = evaluate(*(snippet(builder, value) for value in ["", *values]))
    assert [value for value, config in zip(values, changed) if config == base] == []


@pytest.mark.parametrize(
    ("builder", "knobs", "message"),
    [
        ("ner", "case_dim: 2, affix_dim: 0", "case_dim: needs affix_dim"),
        ("ner", "pretrained_file: 'a', embedding_dim: 0", "pretrained_file: needs embedding_dim"),
        ("ner", "unknown_probability: 1, embedding_dim: 0", "unknown_probability: needs embedding"),
        ("trec", "recurrent_dropout: 0.1, encoder_type: 'gru'", "recurrent_dropout: needs a BiLST"),
        ("trec", f"decoder: {NEF}, bidirectional: false", "decoder: needs bidirectional"),
        ("sick", f"decoder: {NEF}, pooling: 'state'", "decoder: needs the pooling 'attention'"),
        ("ner_psa", "order:: ['fusion', 'BiLSTM']", "order: expected 'fusion' and 'bilstm'"),
        ("ner_psa", "order:: []", "order: expected 'fusion' and 'bilstm'"),
        ("pos_lan", "encoder_type:: 'gru'", "encoder_type: label attention has a BiLSTM"),
        ("ner", "lstm_dimm: 7", "lstm_dimm: expected one of the knobs .*, batch_size, "),
        ("trec", "max_tokens:: 7", "max_tokens: expected one of the knobs"),
        ("qe", "num_epochs:: 7", "num_epochs: expected one of the knobs"),
        ("ner psa", "num_heads:: 7", "num_heads: expected one of the knobs"),
    ],
)
def test_a_wrong_knob_is_an_error(builder, knobs, message):
    with pytest.raises(RuntimeError, match=message):
        evaluate(snippet(builder, knobs))


def test_fields_of_allennlp_are_taken():
    knobs = "random_seed: 7, test_data_path: 'a', evaluate_on_test: true"
    assert evaluate(snippet("pos", knobs))[0]["random_seed"] == 7


@pytest.mark.parametrize(
    ("builder", "knobs", "input_dim", "states_dim"),
    [
        ("ner", f"decoder: {NEF}, tag_head: self.crf", 26, 60),
        ("pos", "case_dim: 3, num_layers: 2", 29, 10),
        ("ner", "embedding_dim: 0, affix_dim: 0, character_dim: 2, character_lstm_dim: 4", 8, 10),
        ("qe", f"affix_dim: 0, decoder: {NEF}, tag_head_type: 'crf'", 36, 60),
        ("qe", "affix_dim: 0, neighbours: false, min_count: 1", 12, 10),
    ],
)
def test_dimensions_follow_from_the_knobs(build, builder, knobs, input_dim, states_dim):
    sizes = f"{{ embedding_dim: 6, affix_dim: 10, lstm_dim: 5, dropout: 0.1 }} + {{ {knobs} }}"
    (config,) = evaluate(f"{snippet(builder)} + {sizes}")
    trainer = build(config).trainer
    model = trainer.model
    assert model.input_representation.get_output_dim() == model.encoder.get_input_dim() == input_dim
    assert model.tag_head.input_dim == states_dim
    assert math.isfinite(step(trainer)[0])


@pytest.mark.parametrize(
    ("builder", "knobs"),
    [
        ("parse", "tag_dim: 0, lstm_dim: 4"),
        ("trec", "recurrent_dropout: 0.3, lstm_dim: 4"),
        ("ner", "encoder_type: 'gru'"),
        ("pos_lan", "num_layers:: 1, lstm_dim:: 15, num_heads:: 3, character_lstm_dim:: 3"),
        ("ner_psa", "attention_options:: { relative: false, absolute: true }"),
        ("ner_psa", "order:: ['bilstm', 'fusion', 'fusion'], tag_head:: { type: 'softmax' }"),
    ],
)
def test_variants_learn(build, builder, knobs):
    loss, changed = step(build(evaluate(snippet(builder, knobs))[0]).trainer)
    assert math.isfinite(loss) and {"encoder", "_seq2vec_encoder"} & parts_of(changed)


@pytest.mark.parametrize("header", ["", "2 3\n"], ids=["GloVe", "word2vec"])
def test_words_with_a_vector_are_in_the_vocabulary_and_start_with_it(build, tmp_path, header):
    vectors = {"Lisbon": [1.0, 2.0, 3.0], "Zanzibar": [4.0, 5.0, 6.0]}
    path = tmp_path / "vectors.txt"
    lines = [" ".join([word, *map(str, vector)]) for word, vector in vectors.items()]
    path.write_text(header + "\n".join(lines) + "\n", encoding="utf-8")
    knobs = f"pretrained_file: '{path}', embedding_dim: 3"
    model = build(evaluate(snippet("ner", knobs))[0]).model
    indices = model.vocab.get_token_to_index_vocabulary()
    table = model.input_representation.text_field_embedder.token_embedder_tokens.weight
    for word, vector in vectors.items():
        assert table[indices[word]].tolist() == vector
    assert "Houses" not in indices  # once, in training


def test_some_rare_words_become_unknown(build):
    (config,) = evaluate(snippet("ner", "unknown_probability: 0.5, min_count: 1"))
    trainer = build(config).trainer
    rare_words = trainer.model.input_representation.rare_words
    batch = next(iter(trainer.data_loader))["tokens"]
    torch.manual_seed(0)
    before, after = (tokens["tokens"]["tokens"] for tokens in (batch, rare_words(batch)))
    assert (before != 1).all()
    assert 0 < (after == 1).sum() < (before != 0).sum()

    with pytest.raises(ConfigurationError, match="lower vocabulary.min_count of 'tokens'"):
        build(evaluate(snippet("ner", "unknown_probability: 0.5"))[0])


@pytest.mark.parametrize("option", ["initializer", "regularizer"])
def test_an_invalid_regular_expression_is_one_line(build, option):
    config = config_of("ner_bilstm")
    config["model"][option] = {
        "regexes": [["enc(", {"type": "zero" if option[0] == "i" else "l2"}]]
    }
    with pytest.raises(re.error) as caught:
        step(build(config).trainer)
        build(config).trainer.model.get_regularization_penalty()
    assert error_message(caught.value) == (
        "config: expected a regular expression, got 'enc(' (missing ), unterminated subpattern at position 3)"
    )
