"""`neural_easy_first` inside AllenNLP's own encoders and models."""

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch, Instance, Token, Vocabulary
from allennlp.data.fields import SequenceLabelField, TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer
from allennlp.models import Model
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder

from allennlp_nef.modules.seq2seq_encoders import DropoutEncoder

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


def test_output_has_the_dimension_of_the_input():
    encoder = DropoutEncoder(3, 0.5)
    assert encoder.get_input_dim() == encoder.get_output_dim() == 3
    assert encoder.is_bidirectional() and not DropoutEncoder(3, 0.5, False).is_bidirectional()
    assert Seq2SeqEncoder.by_name("dropout") is DropoutEncoder


def test_dropout_is_for_training_only():
    torch.manual_seed(0)
    inputs, mask = torch.ones(4, 50, 3), torch.ones(4, 50, dtype=torch.bool)
    encoder = DropoutEncoder(3, 0.25)
    output = encoder(inputs, mask)
    assert (output == 0).float().mean() == pytest.approx(0.25, abs=0.06)
    assert output[output != 0] == pytest.approx(1 / 0.75)
    assert torch.equal(encoder.eval()(inputs), inputs)


@pytest.mark.parametrize("dropout", [-0.1, 1, 2])
def test_bad_dropout_is_refused(dropout):
    with pytest.raises(ConfigurationError, match=r"dropout: expected a number in \[0, 1\)"):
        DropoutEncoder(3, dropout)
