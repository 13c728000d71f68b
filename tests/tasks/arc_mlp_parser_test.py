import math
from copy import deepcopy

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.models import Model

from allennlp_nef.tasks.dependency_parsing import ConlluTreesReader, projective_heads
from tests import small_batches

TREES = [
    ("a b c d", [2, 0, 4, 2], ["x", "root", "y", "x"]),
    ("b", [0], ["root"]),
    ("c a d", [3, 3, 0], ["y", "x", "root"]),
]
MODEL = {
    "type": "arc_mlp_parser",
    "text_field_embedder": {
        "token_embedders": {"tokens": {"type": "embedding", "embedding_dim": 4}}
    },
    "pos_tag_embedding": {"embedding_dim": 2, "vocab_namespace": "pos"},
    "encoder": {"type": "lstm", "input_size": 6, "hidden_size": 3, "bidirectional": True},
    "arc_dim": 5,
    "label_dim": 5,
}


def batch_of(trees, vocab=None):
    reader = ConlluTreesReader()
    made = [
        reader.text_to_instance(words.split(), words.upper().split(), heads, labels)
        for words, heads, labels in trees
    ]
    return small_batches.batch_of(made, vocab, reader)


def build(**options):
    batch, vocab = batch_of(TREES)
    torch.manual_seed(1)
    params = Params(deepcopy({**MODEL, **options}))
    return Model.from_params(params, vocab=vocab), batch


def scores_of(model, batch):
    """The scores of arcs and the best heads of each sentence, by the equations."""
    mask = batch["words"]["tokens"]["tokens"] > 0
    states = model._states(batch["words"], batch["pos_tags"], mask)
    for row, length in enumerate(mask.sum(-1).tolist()):
        words, heads = model.arcs.words.weight, model.arcs.heads
        own = states[row, : length + 1]  # the first one is the root
        hidden = torch.stack([heads(own) + words @ word for word in own[1:]]).tanh()
        yield own, hidden @ model.arcs.vector  # (words, words + 1)


@pytest.mark.parametrize("is_training", [True, False])
def test_loss_is_that_of_the_formulas(is_training):
    model, batch = build()
    model.train(is_training)
    expected = 0.0
    for row, (states, arcs) in enumerate(scores_of(model, batch)):
        _, gold, labels = TREES[row]
        length = len(gold)
        words = torch.arange(length)
        gold = torch.tensor(gold)
        wrong = torch.ones_like(arcs)
        wrong[words, gold] = 0
        heads = projective_heads((arcs + wrong).detach().numpy()[None], [length])[0]
        tree = (arcs + wrong)[words, torch.from_numpy(heads)].sum() - arcs[words, gold].sum()
        expected += tree.item()
        assert tree.item() >= 0
        scores = model.labels(states[None], gold[None])[0]
        for word, label in enumerate(labels):
            index = model.vocab.get_token_index(label, "head_tags")
            others = [scores[word, other].item() for other in range(3) if other != index]
            expected += max(0, 1 + max(others) - scores[word, index].item())
    assert model(**batch)["loss"].item() == pytest.approx(expected / 8, abs=1e-5)


def test_every_parameter_has_a_gradient_and_the_trees_are_learned():
    model, batch = build()
    small_batches.train(model, batch, steps=60, lr=0.05)
    output = model.make_output_human_readable(model(**batch))
    assert output["predicted_heads"] == [heads for _, heads, _ in TREES]
    assert output["predicted_dependencies"] == [labels for _, _, labels in TREES]
    assert model.get_metrics()["LAS"] == 1
    assert output["loss"].item() == pytest.approx(0, abs=0.1)


@pytest.mark.parametrize("seed", range(3))
def test_answers_do_not_depend_on_the_batch_and_are_trees_with_one_root(seed):
    model, batch = build()
    torch.manual_seed(seed)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter)
    output = model.eval()(words=batch["words"], pos_tags=batch["pos_tags"])
    assert "loss" not in output
    together = model.make_output_human_readable(output)
    for row, tree in enumerate(TREES):
        single, _ = batch_of([tree], model.vocab)
        alone = model.make_output_human_readable(model(**single))
        for name in ("predicted_heads", "predicted_dependencies"):
            assert alone[name][0] == together[name][row]
        for name in ("head_probabilities", "label_probabilities"):
            assert alone[name][0] == pytest.approx(together[name][row], abs=1e-5)
        heads, labels = (together[f"predicted_{name}"][row] for name in ("heads", "dependencies"))
        assert heads.count(0) == 1
        assert [label == "root" for label in labels] == [head == 0 for head in heads]


def test_vectors_of_padding_do_not_matter():
    model, batch = build()
    expected = model.eval()(**batch)["loss"]
    weight = model.text_field_embedder.token_embedder_tokens.weight
    with torch.no_grad():
        weight[0] = math.nan
    torch.testing.assert_close(model(**batch)["loss"], expected)


def test_bfloat16_under_autocast():
    model, batch = build()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = model(**batch)["loss"]
    loss.backward()
    assert torch.isfinite(loss)


def test_an_encoder_of_another_input_dimension_is_an_error():
    with pytest.raises(ConfigurationError):
        build(pos_tag_embedding=None)
