import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch, Instance, Token, Vocabulary
from allennlp.data.fields import TextField
from allennlp.modules import TokenEmbedder

from allennlp_nef.data.token_indexers import WordPiecesIndexer
from allennlp_nef.errors import UserError
from allennlp_nef.modules.pretrained_transformer import StateCache
from tests.small_transformer import DIM, LENGTH, SAVE

SENTENCES = ["She met Sheldon .", "a", "Yes \u200b ."]
LONG = " ".join(f"word{i}" for i in range(40))


@pytest.fixture(scope="module", params=sorted(SAVE))
def folder(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("transformer") / request.param
    SAVE[request.param](path)
    return str(path)


@pytest.fixture
def make(folder):
    def embedder(**options):
        torch.manual_seed(1)
        params = {"type": "word_pieces", "model_name": folder, **options}
        return TokenEmbedder.from_params(Params(params)).eval()

    return embedder


@pytest.fixture
def embed(folder):
    """`embed(embedder, *sentences)`: the vectors."""

    def run(embedder, *sentences):
        indexers = {"word_pieces": WordPiecesIndexer(folder)}
        fields = [TextField([*map(Token, text.split(" "))], indexers) for text in sentences]
        batch = Batch([Instance({"tokens": field}) for field in fields])
        batch.index_instances(Vocabulary())
        return embedder(**batch.as_tensor_dict()["tokens"]["word_pieces"])

    return run


@pytest.mark.parametrize("mode", ["first", "avg"])
def test_vectors_are_those_of_the_pieces_of_the_sentence(make, embed, mode):
    embedder = make(sub_token_mode=mode)
    vectors = embed(embedder, "She met Sheldon")
    assert vectors.shape == (1, 3, DIM) and embedder.get_output_dim() == DIM
    inputs = embedder.tokenizer(
        ["She", "met", "Sheldon"], is_split_into_words=True, return_tensors="pt"
    )
    states = embedder.transformer(**inputs).last_hidden_state[0]
    for word, vector in enumerate(vectors[0]):
        places = [place for place, index in enumerate(inputs.word_ids()) if index == word]
        pieces = states[places]
        torch.testing.assert_close(vector, pieces[0] if mode == "first" else pieces.mean(0))


def test_padding_does_not_change_the_vectors(make, embed):
    embedder = make(sub_token_mode="avg", last_layers=2)
    vectors = embed(embedder, *SENTENCES, LONG)
    for row, sentence in zip(vectors, (*SENTENCES, LONG)):
        alone = embed(embedder, sentence)[0]
        torch.testing.assert_close(row[: len(alone)], alone)
        assert (row[len(alone) :] == 0).all()


def test_a_word_of_a_long_sentence_is_that_of_a_window_around_it(make, embed):
    embedder = make()
    words = LONG.split(" ")
    vectors = embed(embedder, LONG)[0]
    pieces = embedder.tokenizer(words, add_special_tokens=False)["input_ids"]
    room = LENGTH - embedder.layout.num_special
    assert sum(map(len, pieces)) > 2 * room
    end = max(n for n in range(41) if sum(map(len, pieces[:n])) <= room)
    # The first window.
    expected = embed(embedder, " ".join(words[:end]))[0]
    torch.testing.assert_close(vectors[:2], expected[:2])
    assert not torch.allclose(
        vectors[end - 1], expected[end - 1]
    )  # it has more context in the next one


def test_wrong_options_are_errors(make):
    with pytest.raises(ConfigurationError, match=f"max_length: .* and at most {LENGTH}, "):
        make(max_length=LENGTH + 1)
    with pytest.raises(ConfigurationError, match="sub_token_mode: expected one of first, last"):
        make(sub_token_mode="max")


def test_kept_states_of_frozen_layers_stand_for_those_layers(make, embed, tmp_path, monkeypatch):
    options = {"frozen_layers": 1, "last_layers": 2, "sub_token_mode": "avg"}
    expected = embed(make(**options), *SENTENCES, LONG)
    for run in range(2):
        embedder = make(**options, state_cache=str(tmp_path / "states"))
        if run == 1:  # it finds all states
            monkeypatch.setattr(embedder._cache, "_append", None)
        for _ in range(2):
            vectors = embed(embedder, *SENTENCES, LONG)
            torch.testing.assert_close(vectors, expected, atol=5e-3, rtol=0)
    embed(embedder.train(), *SENTENCES).sum().backward()
    learning = {name for name, weight in embedder.named_parameters() if weight.grad is not None}
    assert any(".layer.1." in name for name in learning)
    assert not any(".layer.0." in name or "embeddings" in name for name in learning)


def test_states_of_other_weights_and_cut_off_files_are_not_used(make, embed, folder, tmp_path):
    options = {"train_parameters": False, "state_cache": str(tmp_path)}
    expected = embed(make(**options), *SENTENCES)
    (states,) = tmp_path.glob("*.states")
    for path, size in ((states, 100), (states.with_suffix(".index"), 30)):
        kept = path.read_bytes()
        path.write_bytes(kept[:size])
        torch.testing.assert_close(embed(make(**options), *SENTENCES), expected)
    make(frozen_layers=1, state_cache=str(tmp_path))
    assert len(list(tmp_path.glob("*.states"))) == 2


def test_a_cache_that_cannot_be_used_is_an_error(make, tmp_path):
    for options in ({}, {"frozen_layers": 0}, {"train_parameters": False, "last_layers": 2}):
        with pytest.raises(ConfigurationError, match="state_cache: expected frozen_layers"):
            make(state_cache=str(tmp_path), **options)
    with pytest.raises(ConfigurationError, match="state_cache: expected pretrained weights"):
        make(state_cache=str(tmp_path), frozen_layers=1, load_weights=False)
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="state_cache: expected a folder to write"):
        make(state_cache=str(tmp_path / "file"), frozen_layers=1)


def test_a_transformer_that_cannot_be_divided_is_an_error(tmp_path):
    from transformers import ElectraConfig, ElectraModel

    config = ElectraConfig(
        vocab_size=30, embedding_size=8, hidden_size=12, num_hidden_layers=2, num_attention_heads=2
    )
    with pytest.raises(ConfigurationError, match="state_cache: .* got ElectraModel"):
        StateCache(str(tmp_path), ElectraModel(config), 1, "float32")
