"""Our encoders inside AllenNLP's `compose` and `simple_tagger`."""

import pytest
import torch
from allennlp.common import Params
from allennlp.data import Batch, Instance, Token, Vocabulary
from allennlp.data.fields import SequenceLabelField, TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer
from allennlp.models import Model

from allennlp_nef.modules.seq2seq_encoders import DropoutEncoder

SENTENCES = ["the cat sat", "a dog", "the old dog sat on a mat"]


def instances():
    for sentence in SENTENCES:
        words = sentence.split()
        tokens = TextField([Token(word) for word in words], {"tokens": SingleIdTokenIndexer()})
        tags = ["DET" if word in ("the", "a") else "X" for word in words]
        yield Instance({"tokens": tokens, "tags": SequenceLabelField(tags, tokens)})


def test_simple_tagger_learns_with_a_decoder():
    torch.manual_seed(0)
    encoders = [
        {"type": "lstm", "input_size": 8, "hidden_size": 6, "bidirectional": True},
        {"type": "dropout", "input_dim": 12, "dropout": 0.1},
        {"type": "position_aware_self_attention", "input_dim": 12},
        {"type": "neural_easy_first", "input_dim": 12, "num_steps": 3, "sketch_dim": 4},
    ]
    embedder = {"token_embedders": {"tokens": {"type": "embedding", "embedding_dim": 8}}}
    params = {"type": "simple_tagger", "text_field_embedder": embedder}
    params["encoder"] = {"type": "compose", "encoders": encoders}
    vocab = Vocabulary.from_instances(instances())
    model = Model.from_params(Params(params), vocab=vocab)
    batch = Batch(list(instances()))
    batch.index_instances(vocab)
    tensors = batch.as_tensor_dict()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = model(**tensors)["loss"]
        loss.backward()
        assert all(p.grad is not None for p in model.parameters())
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.1 * losses[0]


def test_dropout_is_for_training_only():
    torch.manual_seed(0)
    inputs, mask = torch.ones(4, 50, 3), torch.ones(4, 50, dtype=torch.bool)
    encoder = DropoutEncoder(3, 0.25)
    assert encoder.get_input_dim() == encoder.get_output_dim() == 3
    assert encoder.is_bidirectional() and not DropoutEncoder(3, 0.5, False).is_bidirectional()
    output = encoder(inputs, mask)
    assert (output == 0).float().mean() == pytest.approx(0.25, abs=0.06)
    assert output[output != 0] == pytest.approx(1 / 0.75)
    assert torch.equal(encoder.eval()(inputs), inputs)
