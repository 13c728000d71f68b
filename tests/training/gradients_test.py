"""Every config can be trained on two processes: each parameter has a gradient, whatever the batches are."""

import copy

import pytest
import torch
import torch.distributed
from allennlp.data.data_loaders import MultiProcessDataLoader

from allennlp_nef.training.trainer import accelerator
from tests.processes import in_two_processes
from tests.small_experiment import CONFIGS, ROOT, can_be_built, evaluate, experiment
from tests.small_transformer import DIM, LAYERS, save_bert

# The metric of biaffine_parser adds up tensors of the shape of each process's batch: several processes cannot train it.
NAMES = [
    name
    for name in sorted(path.stem for path in CONFIGS.glob("*.jsonnet"))
    if can_be_built(name) and not name.startswith("parse_biaffine")
]
FILES = {
    "src": "a",
    "mt": "b",
    "tags": "OK OK OK",
    "source_tags": "OK",
    "hter": "0.5",
    "src-mt.alignments": "",
}
WITHOUT_MORE = "\t_" * 6
COLUMNS = "mt_system doc_id seg_id annotator_id source target start_ids end_ids errors"
PAIRS = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
SPANS = [COLUMNS, *("x x 0 x a b -1 -1 no-error", "x x 1 x a b -1 -1 no-error")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Data of two sentences of one word, without alignments, for each task; and a small transformer."""
    folder = tmp_path_factory.mktemp("data")
    for ending, line in FILES.items():
        (folder / f"qe.{ending}").write_text(f"{line}\n" * 2)
    (folder / "qe_spans.tsv").write_text("".join(line.replace(" ", "\t") + "\n" for line in SPANS))
    (folder / "ner").write_text("a O\n\nb O\n")
    (folder / "pos").write_text("".join(f"1\t{word}\t_\tNOUN{WITHOUT_MORE}\n\n" for word in "ab"))
    tree = "\t0\troot\t_\t_\n\n"
    (folder / "parse").write_text("".join(f"1\t{w}\t_\tNOUN\t_\t_{tree}" for w in "ab"))
    (folder / "trec").write_text("ENTY:product a\nHUM:gr b\n")
    (folder / "sst").write_text("(0 a)\n(2 b)\n")
    pairs = (f"{i}\ta\tb\t{score}\tCONTRADICTION\n" for i, score in enumerate((1, 4.5)))
    (folder / "sick").write_text(PAIRS + "".join(pairs))
    trees = (f"1\t{word}\t_\t_\t_\t_\t0\troot\t_\t_\n\n" for word in "abab")
    (folder / "sick.conllu").write_text("".join(trees))
    save_bert(folder / "bert")
    return folder


def snippet(name, folder):
    """The Jsonnet of a config, with the small transformer."""
    changes = ""
    if name.endswith("transformer"):
        changes = f" + {{ transformer_model:: '{folder}/bert', transformer_dim:: {DIM} }}"
        if name.startswith("qe"):
            changes += f" + {{ transformer_layers:: {LAYERS}, transformer_length:: 64 }}"
    return f"(import '{CONFIGS}/{name}.jsonnet'){changes}"


def model_and_batches(name, config, folder):
    """The model of a config; a batch of its data, one of one-word sentences, and one that is left out of the loss."""
    task = name.split("_")[0]
    instances = 40 if task in ("trec", "sst", "sick") else 4  # with all labels of the dev data
    trainer = experiment(config, folder / name, instances=instances).trainer
    reader = copy.copy(trainer.data_loader.reader)
    if getattr(reader, "parses", None) is not None:
        reader.parses = str(folder)
    path = folder / task
    if config["train_data_path"].endswith("_spans.tsv"):
        path = folder / "qe_spans.tsv"
    loader = MultiProcessDataLoader(reader, str(path), batch_size=2, quiet=True)
    loader.index_with(trainer.model.vocab)
    (short,) = loader
    unseen = short
    for name in {"tags", "head_tags", "labels"} & set(short):
        unseen = {**short, name: torch.full_like(short[name], -1)}
    return trainer.model, (next(iter(trainer.data_loader)), short, unseen)


def gradients_of(model, batch):
    """All gradients in a row; 0 for a parameter that has none."""
    model.zero_grad()
    torch.manual_seed(0)  # the same dropout
    model(**batch)["loss"].backward()
    parameters = [each for each in model.parameters() if each.requires_grad]
    gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
    return torch.cat([gradient.flatten() for gradient in gradients])


def check_gradients(rank, cases):
    """Those of two processes are the means of the gradients that each has alone."""
    for name, (model, (usual, short, unseen)) in cases.items():
        alone = copy.deepcopy(model)
        together = accelerator(-1).wrap_model(model)[1].model
        for pair in ((short, usual), (usual, unseen)):
            mean = gradients_of(alone, pair[rank]) / 2
            torch.distributed.all_reduce(mean)
            assert mean.isfinite().all(), name
            torch.testing.assert_close(gradients_of(together, pair[rank]), mean, msg=name)


def test_every_config_has_the_mean_gradients_of_both_processes(folder, monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT)
    configs = zip(NAMES, evaluate(*(snippet(name, folder) for name in NAMES)))
    cases = {name: model_and_batches(name, config, folder) for name, config in configs}
    in_two_processes(check_gradients, tmp_path / "processes", cases)
