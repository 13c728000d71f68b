"""The committed fixtures are what their generators write; a model of quality needs the source to learn from them."""

import json
import random
import subprocess
import sys

import pytest

import allennlp_nef
from allennlp_nef.data.formats.wmt_word_qe import read_examples
from allennlp_nef.metrics import count_word_qe, word_qe_scores


def generate(root, name, folder, *options):
    script = str(root / "fixtures" / f"generate_{name}.py")
    subprocess.run([sys.executable, script, "--output", str(folder), *options], check=True)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("name", ["ner", "pos", "qe", "sentences"])
def test_generators_write_the_committed_files(name, root, tmp_path):
    committed = {path.name: path.read_bytes() for path in (root / "fixtures" / name).iterdir()}
    assert generate(root, name, tmp_path) == committed


@pytest.mark.parametrize("name", ["pos", "qe"])
def test_sizes_and_seed_of_generators_are_used(name, root, tmp_path):
    sizes = ("--sizes", "3", "2", "1")
    first = generate(root, name, tmp_path / "1", *sizes)
    assert generate(root, name, tmp_path / "2", *sizes, "--seed", "2") != first
    assert generate(root, name, tmp_path / "3", *sizes) == first
    training = next(data for file, data in sorted(first.items()) if file.startswith("train."))
    assert len(training) < 2000


def f1_mult(predictor, examples):
    requests = [
        {"source": e.source, "target": e.target, "alignments": list(map(list, e.alignments))}
        for e in examples
    ]
    predicted = [tag for answer in predictor.predict_batch_json(requests) for tag in answer["tags"]]
    gold = [tag for example in examples for tag in example.tags]
    return word_qe_scores(count_word_qe(gold, predicted))["f1_mult"]


def test_scores_fall_when_the_alignments_are_shuffled(allennlp, root, tmp_path):
    overrides = json.dumps({"trainer.num_epochs": 3, "random_seed": 1, "pytorch_seed": 1})
    config = "training_configs/qe_nef_f.jsonnet"
    allennlp("train", config, "-s", tmp_path / "run", "-o", overrides)
    predictor = allennlp_nef.load(str(tmp_path / "run"))
    examples = list(read_examples(root / "fixtures" / "qe" / "test"))
    trained = f1_mult(predictor, examples)
    assert trained >= 0.60
    generator = random.Random(1)
    shuffled = []
    for example in examples:
        sources, targets = zip(*example.alignments) if example.alignments else ((), ())
        sources = generator.sample(sources, len(sources))
        shuffled.append(example._replace(alignments=list(zip(sources, targets))))
    assert f1_mult(predictor, shuffled) <= trained - 0.10
