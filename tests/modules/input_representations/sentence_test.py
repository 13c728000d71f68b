import torch
from allennlp.common import Params
from allennlp.data import Batch, Instance, Token, Vocabulary
from allennlp.data.fields import TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer

from allennlp_nef.modules.input_representations import (
    InputRepresentation,
    SentenceRepresentation,
)


def test_embedded_words():
    indexers = {"tokens": SingleIdTokenIndexer()}
    sentences = [["a", "b", "c"], ["b"]]
    instances = [
        Instance({"tokens": TextField([Token(word) for word in words], indexers)})
        for words in sentences
    ]
    vocab = Vocabulary.from_instances(instances)
    batch = Batch(instances)
    batch.index_instances(vocab)
    embedder = {"token_embedders": {"tokens": {"type": "embedding", "embedding_dim": 4}}}
    torch.manual_seed(0)
    representation = InputRepresentation.from_params(
        Params({"text_field_embedder": embedder}),  # the default type
        vocab=vocab,
    )
    assert isinstance(representation, SentenceRepresentation)
    assert representation.get_output_dim() == 4
    vectors, mask = representation(**batch.as_tensor_dict())
    assert mask.tolist() == [[True, True, True], [True, False, False]]
    table = representation.text_field_embedder.token_embedder_tokens.weight
    for row, words in enumerate(sentences):
        for column, word in enumerate(words):
            assert torch.equal(vectors[row, column], table[vocab.get_token_index(word)])
