"""Instances as a batch of tensors, trainings on one batch, and the folder of such a training."""

import json

import torch
from allennlp.data import Batch, Vocabulary


def batch_of(instances, vocab=None, reader=None):
    """The tensors of instances, and their vocabulary; the reader adds its token indexers."""
    for instance in instances if reader else ():
        reader.apply_token_indexers(instance)
    vocab = vocab or Vocabulary.from_instances(instances)
    batch = Batch(instances)
    batch.index_instances(vocab)
    return batch.as_tensor_dict(), vocab


def train(model, batch, steps, lr):
    """Trains with Adam. Every parameter must have a gradient."""
    optimizer = torch.optim.Adam(model.train().parameters(), lr=lr)
    for _ in range(steps):
        optimizer.zero_grad()
        model(**batch)["loss"].backward()
        assert [name for name, each in model.named_parameters() if each.grad is None] == []
        optimizer.step()
    model.get_metrics(reset=True)
    return model.eval()


def save_run(folder, model, config):
    """Writes the folder of a training run."""
    folder.mkdir()
    model.vocab.save_to_files(str(folder / "vocabulary"))
    torch.save(model.state_dict(), str(folder / "best.th"))
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "meta.json").write_text('{"version": "2.10.1"}', encoding="utf-8")
