import torch
from allennlp.common import Params
from allennlp.data import Batch, Instance, Token, Vocabulary
from allennlp.data.fields import TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer

from allennlp_nef.modules.input_representations import (
    InputRepresentation,
    SentenceRepresentation,
)

INSTANCES = [
    Instance({"tokens": TextField(list(map(Token, words)), {"tokens": SingleIdTokenIndexer()})})
    for words in (["a", "b", "c"], ["b"])
]
VOCAB = Vocabulary.from_instances(INSTANCES)
EMBEDDER = {"token_embedders": {"tokens": {"type": "embedding", "embedding_dim": 4}}}


def make(**options):
    torch.manual_seed(0)
    params = Params({"text_field_embedder": EMBEDDER, **options}).duplicate()
    return InputRepresentation.from_params(params, vocab=VOCAB)  # the default type


def batch():
    some = Batch(INSTANCES)
    some.index_instances(VOCAB)
    return some.as_tensor_dict()


def test_features_are_the_embedded_words():
    representation = make()
    assert isinstance(representation, SentenceRepresentation)
    assert representation.get_output_dim() == 4
    vectors, mask = representation(**batch())
    assert mask.tolist() == [[True, True, True], [True, False, False]]
    table = representation.text_field_embedder.token_embedder_tokens.weight
    for row, instance in enumerate(INSTANCES):
        for column, token in enumerate(instance["tokens"]):
            assert torch.equal(vectors[row, column], table[VOCAB.get_token_index(token.text)])


def test_rare_words_become_the_unknown_word_in_training():
    representation = make(rare_words={"probability": 1.0})
    vectors, mask = representation(**batch())
    assert mask.tolist() == [[True, True, True], [True, False, False]]
    table = representation.text_field_embedder.token_embedder_tokens.weight
    unknown, b = table[1], table[VOCAB.get_token_index("b")]
    assert torch.equal(vectors[0], torch.stack([unknown, b, unknown]))
    assert torch.equal(vectors[1, 0], b)

    expected, _ = make()(**batch())
    assert torch.equal(representation.eval()(**batch())[0], expected)


def test_dropout_acts_on_the_features_in_training():
    representation = make(dropout=0.5)
    expected, _ = make()(**batch())
    vectors, _ = representation(**batch())
    kept = vectors != 0
    assert 0 < kept.sum() < (expected != 0).sum()
    assert torch.equal(vectors[kept], 2 * expected[kept])
    assert torch.equal(representation.eval()(**batch())[0], expected)
