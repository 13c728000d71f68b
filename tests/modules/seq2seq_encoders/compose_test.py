"""`neural_easy_first` inside AllenNLP's own encoders and models."""

import torch
from allennlp.common import Params
from allennlp.data import Batch, Instance, Token, Vocabulary
from allennlp.data.fields import SequenceLabelField, TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer
from allennlp.models import Model

SENTENCES = ["the cat sat", "a dog", "the old dog sat on a mat"]


def instances():
    made = []
    for sentence in SENTENCES:
        words = sentence.split()
        tokens = TextField([Token(word) for word in words], {"tokens": SingleIdTokenIndexer()})
        tags = SequenceLabelField(
            ["DET" if word in ("the", "a") else "X" for word in words], tokens
        )
        made.append(Instance({"tokens": tokens, "tags": tags}))
    return made


def encoders(bidirectional=True, **options):
    states_dim = 6 * (2 if bidirectional else 1)
    lstm = {"type": "lstm", "input_size": 8, "hidden_size": 6, "bidirectional": bidirectional}
    decoder = {
        "type": "neural_easy_first",
        "input_dim": states_dim,
        "num_steps": 3,
        "sketch_dim": 4,
    }
    return {"type": "compose", "encoders": [lstm, {**decoder, **options}]}


def tensors_of(some, vocab):
    batch = Batch(some)
    batch.index_instances(vocab)
    return batch.as_tensor_dict()


def test_simple_tagger_learns_with_a_decoder():
    torch.manual_seed(0)
    vocab = Vocabulary.from_instances(instances())
    embedder = {"token_embedders": {"tokens": {"type": "embedding", "embedding_dim": 8}}}
    model = Model.from_params(
        Params({"type": "simple_tagger", "text_field_embedder": embedder, "encoder": encoders()}),
        vocab=vocab,
    )
    batch = tensors_of(instances(), vocab)
    output = model(**batch)
    output["loss"].backward()
    assert all(p.grad is not None for p in model.parameters())
    for row, instance in enumerate(instances()):
        alone = model(**tensors_of([instance], vocab))["logits"][0]
        torch.testing.assert_close(output["logits"][row, : len(alone)], alone, atol=1e-5, rtol=1e-5)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(30):
        optimizer.zero_grad()
        loss = model(**batch)["loss"]
        loss.backward()
        optimizer.step()
    assert loss < 0.1 * output["loss"]
    assert model.get_metrics()["accuracy"] > 0.5
