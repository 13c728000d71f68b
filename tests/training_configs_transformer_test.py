"""The configs with a pretrained transformer, with small ones that the tests make."""

import json
import math
import re
import shutil
import tarfile
from itertools import pairwise
from types import SimpleNamespace

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.interpret.saliency_interpreters import SimpleGradient
from allennlp.training.callbacks import TrainerCallback
from transformers import BertModel, PreTrainedModel

from allennlp_nef import load
from allennlp_nef.cli.calibrate import calibrate
from allennlp_nef.cli.ensemble import ensemble
from allennlp_nef.data.token_indexers import WordPiecesIndexer
from allennlp_nef.errors import UserError
from allennlp_nef.modules.token_embedders import WordPiecesEmbedder
from allennlp_nef.training import FreezeTransformer, SaveTransformer
from allennlp_nef_console import main
from tests.small_experiment import CONFIGS, ROOT, config_of, evaluate, experiment, parts_of, step
from tests.small_transformer import DIM, LAYERS, LENGTH, SAVE, save_bert

pytestmark = pytest.mark.usefixtures("offline")
# Values other than the default.
KNOBS = {
    "transformer_model": "'models/xlm-roberta-large/'",
    "transformer_dim": "6",
    "transformer_length": "20",
    "sub_token_mode": "'avg'",
    "last_layer_only": "false",
    "train_parameters": "false",
    "last_layers": "2",
    "frozen_layers": "1",
    "frozen_epochs": "1",
    "lora": "{ r: 2 }",
    "save_weights": "false",
    "state_cache": "'states'",
    "gradient_checkpointing": "true",
    "precision": "'bfloat16'",
    "lstm_dim": "6",
    "transformer_lr": "2e-5",
    "lr": "1e-2",
    "layer_decay": "0.5",
    "weight_decay": "0",
    "warmup": "0.3",
    "num_epochs": "2",
    "patience": "2",
    "accumulation": "2",
    "batch_pieces": "400",
    "use_amp": "true",
}


def with_transformer(task, knobs=""):
    parts = f"(import '{CONFIGS}/parts/{task}.libsonnet') + (import '{CONFIGS}/parts/transformer.libsonnet')"
    return f"{parts} + {{ {knobs} }}"


@pytest.fixture(params=sorted(SAVE))
def transformer(request, tmp_path):
    """The folder of a small transformer."""
    SAVE[request.param](tmp_path / "pretrained")
    return tmp_path / "pretrained"


def write_config(name, transformer, knobs=""):
    path = transformer.parent / "config.jsonnet"
    path.write_text(
        f"(import '{CONFIGS / name}.jsonnet') + {{ transformer_model:: '{transformer}', "
        f"transformer_layers:: {LAYERS}, transformer_length:: {LENGTH}, {knobs} }}",
        encoding="utf-8",
    )
    return path


@pytest.fixture
def build(transformer, tmp_path, monkeypatch):
    """`build(name, knobs)`: the trainer of a config."""
    monkeypatch.chdir(ROOT)
    return lambda name, knobs="": (
        experiment(write_config(name, transformer, knobs), tmp_path / "run").trainer
    )


@pytest.mark.parametrize(
    ("name", "knobs"),
    [
        ("qe_nef_f_transformer", "aligned_source:: true, last_layers:: 2, pooling:: 'mean'"),
        ("qe_transformer", "error_spans:: true, gradient_checkpointing:: true, lstm_dim:: 4"),
        ("pos_nef_f_transformer", "gradient_checkpointing:: true"),
        ("qe_transformer", "pooling:: 'first_last', aligned_source:: true, precision:: 'bfloat16'"),
        ("qe_nef_f_transformer", "tagged:: 'gaps', sentence_scores:: true, layer_decay:: 0.9"),
        (
            "ner_nef_f_crf_5_transformer",
            "pooling:: 'first_last', embedding_dim:: 6, affix_dim:: 2, character_dim:: 3",
        ),
        ("sick_entailment_transformer", f"transformer_dim:: {DIM}, lstm_dim:: 4, last_layers:: 2"),
        (
            "sst_transformer",
            f"transformer_dim:: {DIM}, embedding_dim:: 4, decoder:: self.neural_easy_first('full', 2)",
        ),
    ],
)
def test_each_part_learns_in_one_step(build, name, knobs):
    trainer = build(name, f"frozen_layers:: null, {knobs}")
    loss, changed = step(trainer)
    assert math.isfinite(loss)
    assert parts_of(changed) == parts_of(name for name, _ in trainer.model.named_parameters())
    assert any(".layer.0." in parameter for parameter in changed)


@pytest.mark.parametrize("task", ["ner", "qe", "sick"])
def test_each_knob_changes_the_config(task):
    knobs = [f"{name}:: {value}" for name, value in KNOBS.items()]
    if task != "sick":  # whose pooling is that of sentences
        knobs.append("pooling:: 'mean'")
    base, *changed = evaluate(*(with_transformer(task, knob) for knob in ["", *knobs]))
    assert [knob for knob, config in zip(knobs, changed) if config == base] == []


@pytest.mark.parametrize(
    ("task", "knobs", "message"),
    [
        ("ner", "aligned_source:: true", "aligned_source: needs the builder of quality estimation"),
        ("trec", "transformer_model:: 'a/b'", "transformer_dim: needed for .* a/b; known are"),
        ("sick", "transformer_model:: 'a/b'", "transformer_dim: needed for .* a/b; known are"),
        ("qe", "transformer_model:: 'a/b', layer_decay:: 0.5", "transformer_layers: needed for"),
        ("ner", "train_parameters:: false, frozen_layers:: 1", "frozen_layers: changes nothing"),
        ("ner", "transformer_lr:: -1", "transformer_lr: expected a number above 0, got -1"),
        ("ner", "layer_decay:: 0", "layer_decay: expected a number above 0 and at most 1, got 0"),
        ("ner", "warmup:: 2", "warmup: expected a share from 0 to 1, got 2"),
        ("ner", "frozen_epochs:: -1", "frozen_epochs: expected a number from 0, got -1"),
        ("qe", "pool:: 7", "pool: expected one of the knobs"),
        ("qe", "embedding_dim:: 7", "embedding_dim: changes nothing with a transformer"),
        ("sick", "character_dim:: 7", "character_dim: changes nothing with a transformer"),
    ],
)
def test_a_wrong_knob_is_an_error(task, knobs, message):
    with pytest.raises(RuntimeError, match=message):
        evaluate(with_transformer(task, knobs))


def test_sizes_of_known_transformers_need_no_knob():
    knobs = "transformer_model:: 'models/xlm-roberta-large', layer_decay:: 0.5"
    sentence, pair = evaluate(*(with_transformer(task, knobs) for task in ("ner", "qe")))
    assert sentence["model"]["encoder"]["input_dim"] == 1024
    assert pair["model"]["encoder"]["input_dim"] == 1024
    assert len(pair["trainer"]["optimizer"]["parameter_groups"]) == 25
    assert config_of("qe_nef_f_transformer")["model"]["decoder"]["input_dim"] == 768


def test_the_former_builder_of_quality_estimation_can_be_imported():
    former = f"(import '{CONFIGS}/parts/qe_transformer.libsonnet')"
    decoder = "{ decoder: self.neural_easy_first('full', 5) }"
    assert evaluate(f"{former} {decoder}") == [config_of("qe_nef_f_transformer")]


def rates_of(trainer):
    """The learning rates, by the part of the model."""
    names = {id(parameter): name for name, parameter in trainer.model.named_parameters()}
    rates = {}
    for group in trainer.optimizer.param_groups:
        for parameter in group["params"]:
            name = names.pop(id(parameter))
            if ".layer." in name:
                part = name.split(".layer.")[1][0]
            else:
                part = "embeddings" if ".transformer." in name else name.split(".")[0]
            rates.setdefault(part, set()).add(round(group["initial_lr"], 9))
    assert not names
    return rates


@pytest.mark.parametrize("name", ["qe_nef_f_transformer", "ner_nef_f_crf_5_transformer"])
def test_learning_rates_differ_by_layer_and_follow_the_schedule(build, name):
    knobs = "frozen_layers:: null, lr:: 1e-2, transformer_lr:: 1e-4, layer_decay:: 0.5"
    trainer = build(name, f"{knobs}, num_epochs:: 5, last_layers:: 2")
    rates = rates_of(trainer)
    assert rates.pop("1") == {1e-4} and rates.pop("0") == {5e-5}
    assert rates.pop("embeddings") == {2.5e-5}
    assert set.union(*rates.values()) == {1e-2}

    # The learning rates increase in the first tenth of the training, then they decrease.
    schedule, groups = trainer._learning_rate_scheduler, trainer.optimizer.param_groups
    schedule.num_steps_per_epoch = 100  # of 5 epochs
    seen = []
    for number in range(100):
        schedule.step_batch(number)
        seen.append(groups[-1]["lr"])
        assert groups[0]["lr"] == pytest.approx(seen[-1] * 2.5e-3)
    assert seen[50] == 1e-2 and seen[0] == pytest.approx(1e-2 / 32)
    assert seen[:51] == sorted(seen[:51]) and seen[50:] == sorted(seen[50:], reverse=True)


@pytest.mark.parametrize(
    ("name", "frozen", "learning"),
    [
        ("qe_transformer", "0", {"0", "1"}),
        ("ner_nef_f_crf_5_transformer", "1", {"1"}),
        ("qe_transformer", "'all'", set()),
    ],
)
def test_frozen_layers_do_not_change(build, name, frozen, learning):
    trainer = build(name, f"frozen_layers:: {frozen}, transformer_lr:: 1e-2, num_epochs:: 1")
    before = {name: p.detach().clone() for name, p in trainer.model.named_parameters()}
    trainer.train()
    parameters = dict(trainer.model.named_parameters())
    changed = {name for name, value in before.items() if (parameters[name] != value).any()}
    assert {name.split(".layer.")[1][0] for name in changed if ".layer." in name} == learning
    assert not any("embeddings" in name for name in changed)
    assert any(name.startswith("tag_head.") for name in changed)


def test_encoder_learns_after_its_frozen_epochs(build):
    trainer = build("qe_transformer", "frozen_epochs:: 1, num_epochs:: 2, last_layers:: 2")
    model = trainer.model
    weights = [{name: p.detach().clone() for name, p in model.named_parameters()}]

    class Recorder(TrainerCallback):
        def on_epoch(self, *_, **__):
            weights.append({name: p.detach().clone() for name, p in model.named_parameters()})

    trainer._callbacks.append(Recorder(""))
    trainer.train()
    first, second = (
        {name for name, weight in after.items() if not torch.equal(weight, before[name])}
        for before, after in pairwise(weights)
    )
    assert first and not any(".transformer." in name for name in first)
    assert any(".layer_mix." in name for name in first)
    assert any(".transformer.encoder.layer.0." in name for name in second)


def test_recovered_training_knows_whether_the_encoder_is_frozen(tmp_path):
    save_bert(tmp_path / "bert")
    model = WordPiecesEmbedder(str(tmp_path / "bert"))
    for epochs, is_frozen in ((0, True), (1, True), (2, False)):
        trainer = SimpleNamespace(
            model=model, _distributed=False, _start_after_epochs_completed=epochs
        )
        callback = FreezeTransformer(str(tmp_path), epochs=2)
        callback.on_start(trainer)
        assert model.is_frozen is is_frozen
    callback.on_epoch(trainer, {}, 0)
    model.train()
    assert model.is_frozen and model.training and not model.transformer.training
    callback.on_end(trainer)
    model.train()
    assert not model.is_frozen and model.transformer.training


@pytest.mark.parametrize("wrong", ["model", "_distributed"])
def test_a_training_whose_encoder_cannot_be_frozen_for_a_while_is_an_error(tmp_path, wrong):
    save_bert(tmp_path / "bert")
    trainer = SimpleNamespace(model=WordPiecesEmbedder(str(tmp_path / "bert")), _distributed=False)
    setattr(trainer, wrong, torch.nn.Linear(1, 1) if wrong == "model" else True)
    with pytest.raises(ConfigurationError, match="freeze_transformer: expected "):
        FreezeTransformer(str(tmp_path)).on_start(trainer)


@pytest.mark.parametrize(
    ("name", "predictor", "words"),
    [
        ("ner_nef_f_crf_5_transformer", "nef_tagger", ["tokens"]),
        ("trec", "sentence_classifier", ["sentence"]),
        ("qe_nef_f_transformer", "word_qe", ["source", "target"]),
    ],
)
def test_archive_needs_neither_the_pretrained_folder_nor_its_weights(
    allennlp, small, tmp_path, monkeypatch, capfd, name, predictor, words
):
    run, moved = tmp_path / "run", tmp_path / "elsewhere"
    save_bert(tmp_path / "bert")
    if name == "trec":
        config = tmp_path / "config.jsonnet"
        sizes = f"transformer_model:: '{tmp_path}/bert', transformer_dim:: {DIM}"
        config.write_text(with_transformer(name, sizes), encoding="utf-8")
    else:
        config = write_config(name, tmp_path / "bert", "last_layers:: 2")
    limits = {"validation_dataset_reader.max_instances": 12}
    allennlp("train", config, "-s", run, *small(24, epochs=1, **limits))
    # The second sentence is longer than what the transformer reads at once, and in the third a word is, too.
    sentence = ["Sheldon", "met", "Selby", "."]
    texts = [sentence, sentence * 20, [*sentence, "a" * 90]]
    requests = [
        {field: text if field == "tokens" else " ".join(text) for field in words} for text in texts
    ]
    path = tmp_path / "requests.jsonl"
    path.write_text("".join(f"{json.dumps(request)}\n" for request in requests))

    def answers(archive):
        output = tmp_path / "answers.jsonl"
        arguments = ("--predictor", predictor, "--silent", "--output-file", output)
        allennlp("predict", archive, path, *arguments)
        return output.read_text()

    expected = answers(run / "model.tar.gz")
    short, long, cut = map(json.loads, expected.splitlines())
    assert not {"windows", "truncated"} & set(short)
    assert long["windows"] > 1 and "truncated" not in long
    assert cut["truncated"]
    moved.mkdir()
    shutil.move(str(run / "model.tar.gz"), str(moved))
    shutil.rmtree(str(run))
    shutil.rmtree(str(tmp_path / "bert"))
    monkeypatch.setattr(PreTrainedModel, "from_pretrained", None)
    capfd.readouterr()
    assert answers(moved / "model.tar.gz") == expected
    assert main(["check-archive", str(moved / "model.tar.gz")]) == 0
    if predictor == "nef_tagger":
        interpreter = SimpleGradient(load(str(moved / "model.tar.gz")))
        saliency = interpreter.saliency_interpret_from_json(requests[0])
        assert {len(span["grad_input_1"]) for span in saliency.values()} == {len(sentence)}


def test_archive_does_not_use_the_cache_of_states(allennlp, small, tmp_path):
    states, run = tmp_path / "states", tmp_path / "run"
    save_bert(tmp_path / "bert")
    knobs = f"frozen_layers:: 1, state_cache:: '{states}'"
    config = write_config("ner_nef_f_crf_5_transformer", tmp_path / "bert", knobs)
    limits = {"validation_dataset_reader.max_instances": 12}
    allennlp("train", config, "-s", run, *small(24, epochs=1, **limits))
    assert any(path.stat().st_size for path in states.glob("*.states"))
    shutil.rmtree(states)
    requests = tmp_path / "requests.jsonl"
    requests.write_text('{"tokens": ["Sheldon", "met", "Selby"]}\n')
    allennlp(
        "predict",
        run / "model.tar.gz",
        requests,
        "--predictor",
        "nef_tagger",
        "--silent",
        "--output-file",
        tmp_path / "answers.jsonl",
    )
    assert not states.exists()


@pytest.fixture
def small_archive(allennlp, small, tmp_path):
    """An archive of adapters and what is above the transformer in `tmp_path / "bert"`."""
    pytest.importorskip("peft")
    save_bert(tmp_path / "bert")
    knobs = "lora:: { r: 2 }, save_weights:: false"
    config = write_config("ner_nef_f_crf_5_transformer", tmp_path / "bert", knobs)
    limits = {"validation_dataset_reader.max_instances": 24}
    allennlp("train", config, "-s", tmp_path / "run", *small(24, epochs=1, **limits))
    return tmp_path / "run" / "model.tar.gz"


SENTENCE = {"tokens": ["Sheldon", "met", "Selby", "."]}


def test_archive_of_adapters_is_small_and_needs_its_transformer(small_archive, tmp_path, capsys):
    saved = torch.load(small_archive.parent / "best.th")
    assert any(".lora_A." in name for name in saved)
    assert not any("word_embeddings" in name for name in saved)
    assert load(str(small_archive)).predict_json(SENTENCE)["tokens"] == SENTENCE["tokens"]
    with pytest.raises(SystemExit):
        main(["check-archive", str(small_archive)])
    assert "needs the pretrained transformer" in capsys.readouterr().out
    with torch.no_grad():
        model = BertModel.from_pretrained(tmp_path / "bert")
        model.embeddings.word_embeddings.weight.add_(1)
    model.save_pretrained(tmp_path / "bert")
    start = f"^{small_archive}: needs its encoder: .*model_name: expected the "
    with pytest.raises(UserError, match=f"{start}weights that the model was trained with, got"):
        load(str(small_archive))
    shutil.rmtree(tmp_path / "bert")
    with pytest.raises(UserError, match=f"{start}folder of a pretrained transformer") as caught:
        load(str(small_archive))
    assert len(str(caught.value).splitlines()) == 1


def test_archive_that_gets_the_encoder_needs_no_other(small_archive, tmp_path, capsys):
    expected = load(str(small_archive))
    copy, whole, joined = (tmp_path / f"{name}.tar.gz" for name in ("copy", "whole", "joined"))
    shutil.copy(small_archive, copy)
    calibrate(str(small_archive), output=str(whole), with_encoder=True)
    ensemble([str(small_archive), str(copy)], output=str(joined), with_encoder=True)
    for archive in (whole, joined):
        with pytest.raises(UserError, match="with_encoder: expected an archive that needs"):
            calibrate(str(archive), output=str(tmp_path / "again.tar.gz"), with_encoder=True)
    shutil.rmtree(tmp_path / "bert")
    assert main(["check-archive", str(whole), str(joined)]) == 0
    expected = dict(expected._model.named_parameters())
    for archive in (whole, joined):
        for name, weight in load(str(archive))._model.named_parameters():
            of_member = re.sub(r"^\w+\.[01]\.", "", name)
            assert torch.equal(weight, expected[of_member])
    with tarfile.open(whole) as members:
        assert "transformer/model.safetensors" in members.getnames()


def test_models_of_a_process_share_what_they_do_not_train(small_archive):
    def weights(model):
        return {name.split(".transformer.")[-1]: w for name, w in model.named_parameters()}

    models = [load(str(small_archive))._model for _ in range(2)]
    shared = {name for name, w in weights(models[0]).items() if not w.requires_grad}
    one, other = map(weights, models)
    assert "embeddings.word_embeddings.weight" in shared
    assert {name for name in one if one[name].data_ptr() == other[name].data_ptr()} == shared
    models.pop(0)
    third = weights(load(str(small_archive))._model)
    assert all(third[name].data_ptr() == other[name].data_ptr() for name in shared)


def test_two_transformers_in_a_model_are_an_error(tmp_path):
    for name in ("a", "b"):
        save_bert(tmp_path / name)
    model = torch.nn.ModuleList(WordPiecesEmbedder(str(tmp_path / name)) for name in ("a", "b"))
    with pytest.raises(
        ConfigurationError, match="expected one transformer in a model, got .* and "
    ):
        SaveTransformer(str(tmp_path)).on_start(SimpleNamespace(model=model))


def test_the_tokenizer_of_another_transformer_is_an_error(tmp_path):
    for name, save in SAVE.items():
        save(tmp_path / name)
    model = torch.nn.ModuleList([WordPiecesEmbedder(str(tmp_path / "bert"))])
    (tmp_path / "copy").mkdir()
    for file in (tmp_path / "bert").iterdir():
        shutil.copy(file, tmp_path / "copy")

    def loader_of(name):
        indexers = {"tokens": {"pieces": WordPiecesIndexer(str(tmp_path / name))}}
        return SimpleNamespace(reader=SimpleNamespace(indexers=indexers))

    def start(name, of_validation="bert"):
        loaders = {"data_loader": name, "_validation_data_loader": of_validation}
        loaders = {key: loader_of(value) for key, value in loaders.items()}
        trainer = SimpleNamespace(model=model, **loaders)
        SaveTransformer(str(tmp_path / "run")).on_start(trainer)

    with pytest.raises(ConfigurationError, match="expected that of the model, .*bert', got .*xlm"):
        start("xlm_roberta")
    assert not (tmp_path / "run").exists()
    start("copy")
    assert (tmp_path / "run").exists()
    with pytest.raises(ConfigurationError, match="expected that of the model, .*bert', got .*xlm"):
        start("copy", "xlm_roberta")


def test_model_that_cannot_be_found_is_an_error_in_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    with pytest.raises(ConfigurationError, match="model_name: .* folder .*/none") as caught:
        experiment(write_config("qe_transformer", tmp_path / "none"), tmp_path / "run")
    assert len(str(caught.value).splitlines()) == 1
