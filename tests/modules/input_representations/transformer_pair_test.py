import shutil
import sys

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch, Vocabulary

from allennlp_nef.data import WmtWordQeReader
from allennlp_nef.data.token_indexers import WordPiecesIndexer
from allennlp_nef.errors import UserError
from allennlp_nef.modules.input_representations import InputRepresentation
from tests.small_transformer import DIM, LAYERS, SAVE

PAIRS = [
    ("She met Sheldon .", "Sie traf \u200b Sheldon .", [(0, 0), (1, 1), (2, 3), (0, 4), (3, 4)]),
    ("a", "b", [(0, 0)]),
    ("Yes .", "Ja , ja .", []),
]
LONG = (" ".join(f"word{i}" for i in range(30)), " ".join(f"Wort{i}" for i in range(40)), [(0, 39)])


@pytest.fixture(scope="module", params=sorted(SAVE))
def folder(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("transformer") / request.param
    SAVE[request.param](path)
    return str(path)


@pytest.fixture
def make(folder):
    def representation(train=False, **options):
        torch.manual_seed(1)
        params = {"type": "transformer_pair", "model_name": folder, **options}
        return InputRepresentation.from_params(Params(params)).train(train)

    return representation


@pytest.fixture
def batch(folder):
    """`batch(*pairs)`: the fields."""

    def fields(*pairs):
        indexers = {"word_pieces": WordPiecesIndexer(folder)}
        reader = WmtWordQeReader(indexers, indexers)
        instances = [
            reader.text_to_instance(source.split(" "), target.split(" "), links)
            for source, target, links in pairs
        ]
        for instance in instances:
            reader.apply_token_indexers(instance)
        batch = Batch(instances)
        batch.index_instances(Vocabulary())
        tensors = batch.as_tensor_dict()
        del tensors["metadata"]
        return tensors

    return fields


def test_only_aligned_source_words_need_alignments(make):
    assert make().without_alignments is None
    assert "aligned source words" in make(aligned_source=True).without_alignments


def by_hand(representation, source, target, layer=-1):
    """The vectors of the pieces of each word of each side, from the tokenizer's own call for pairs."""
    tokenizer = representation.tokenizer
    inputs = tokenizer(
        source.split(" "), target.split(" "), is_split_into_words=True, return_tensors="pt"
    )
    states = representation.transformer(**inputs, output_hidden_states=True).hidden_states[layer][0]
    sides = []
    for side, text in enumerate((source, target)):
        rows = [[] for _ in text.split(" ")]
        for place, word in enumerate(inputs.word_ids()):
            if word is not None and inputs.sequence_ids()[place] == side:
                rows[word].append(states[place])
        sides.append([torch.stack(row) for row in rows])
    return sides


@pytest.mark.parametrize("mode", ["first", "avg"])
def test_vectors_are_those_of_the_pieces_of_the_pair(make, batch, mode):
    representation = make(sub_token_mode=mode, aligned_source=True)
    source, target, links = "She met Sheldon .", "Sie traf Sheldon <EOS>", [(0, 1), (3, 1), (2, 2)]
    vectors, mask = representation(**batch((source, target, links)))
    assert mask.tolist() == [[True] * 4]
    assert vectors.shape == (1, 4, 2 * DIM) and representation.get_output_dim() == 2 * DIM
    sources, targets = (
        torch.stack([word[0] if mode == "first" else word.mean(0) for word in side])
        for side in by_hand(representation, source, target)
    )
    torch.testing.assert_close(vectors[0, :, :DIM], targets)
    unaligned = representation.unaligned
    expected = torch.stack([unaligned, (sources[0] + sources[3]) / 2, sources[2], unaligned])
    torch.testing.assert_close(vectors[0, :, DIM:], expected)


def test_a_word_may_be_its_last_piece_or_both_ends(make, batch):
    words = by_hand(make(), "She met", "Sie traf")[1]
    lasts = torch.stack([word[-1] for word in words])
    both = torch.stack([torch.cat([word[0], word[-1]]) for word in words])
    fields = batch(("She met", "Sie traf", []))
    torch.testing.assert_close(make(sub_token_mode="last")(**fields)[0][0], lasts)
    representation = make(sub_token_mode="first_last")
    torch.testing.assert_close(representation(**fields)[0][0], both)
    assert representation.get_output_dim() == 2 * DIM
    assert make(sub_token_mode="first_last", aligned_source=True).get_output_dim() == 4 * DIM


def test_mix_is_over_the_last_layers(make, batch):
    representation = make(last_layers=2)
    mixed = representation(**batch(PAIRS[1]))[0][0]
    layers = [by_hand(representation, "a", "b", layer)[1][0][:1] for layer in (-1, -2)]
    torch.testing.assert_close(mixed, sum(layers) / 2)


def test_padding_does_not_change_the_vectors(make, batch):
    representation = make(sub_token_mode="avg", aligned_source=True)
    vectors, mask = representation(**batch(*PAIRS, LONG))
    for row, pair in enumerate((*PAIRS, LONG)):
        alone, _ = representation(**batch(pair))
        assert mask[row].sum() == alone.size(1)
        torch.testing.assert_close(vectors[row, : alone.size(1)], alone[0])


def test_pair_that_just_fits_is_read_at_once(make, batch):
    representation = make()
    source, target = " ".join("a" * 10), " ".join("b" * 9)
    pieces = batch((source, target, []))
    length = sum(int(pieces[side]["word_pieces"]["counts"].sum()) for side in ("source", "target"))
    length += representation.layout.num_special
    expected = torch.stack([word[0] for word in by_hand(representation, source, target)[1]])
    torch.testing.assert_close(make(max_length=length)(**pieces)[0][0], expected)
    split = make(max_length=length - 1)(**pieces)[0][0]
    assert split.shape == expected.shape and not torch.allclose(split, expected)


@pytest.mark.parametrize("mode", ["first", "avg"])
def test_each_word_of_a_long_pair_has_a_vector(make, batch, mode):
    huge = ("x" * 300 + " a", "y " + "z" * 300 + " b", [(1, 2)])
    representation = make(sub_token_mode=mode, aligned_source=True, train=True)
    vectors, mask = representation(**batch(LONG, huge))
    assert mask.sum(-1).tolist() == [40, 3]
    assert vectors[mask].isfinite().all() and (vectors[mask] != 0).any(-1).all()
    assert len(vectors[mask].unique(dim=0)) == 43
    vectors.sum().backward()
    embedding = representation.transformer.get_input_embeddings().weight
    assert embedding.grad.isfinite().all()


def test_frozen_layers_get_no_gradients(make, batch):
    def trained(frozen=None, **options):
        representation = make(frozen_layers=frozen, train=True, **options)
        if options or frozen == LAYERS:
            assert not representation.transformer.training and representation.training
        else:
            assert representation.transformer.training
            representation(**batch(*PAIRS))[0].sum().backward()
        names = [
            name for name, p in representation.transformer.named_parameters() if p.requires_grad
        ]
        return {name.split(".layer.")[-1][0] if ".layer." in name else "rest" for name in names}

    assert trained(None) == {"rest", "0", "1"}
    assert trained(0) == {"0", "1"}
    assert trained(1) == {"1"}
    assert trained(2) == trained(train_parameters=False) == set()


def test_names_of_before_are_read(make, batch):
    fields = batch(*PAIRS)
    former = make(pooling="mean", frozen_layers="all")
    weights = list(former.transformer.parameters())
    assert not any(weight.requires_grad for weight in weights)
    torch.testing.assert_close(former(**fields)[0], make(sub_token_mode="avg")(**fields)[0])


def test_mix_of_all_layers_is_that_of_so_many_last_ones(make, batch):
    fields = batch(*PAIRS)
    mixed = make(last_layer_only=False)(**fields)[0]
    torch.testing.assert_close(mixed, make(last_layers=LAYERS)(**fields)[0])


def test_adapters_are_all_that_is_trained(make, batch):
    pytest.importorskip("peft")
    representation = make(lora={"r": 2, "target_modules": ["query"]}, train=True)
    vectors, _ = representation(**batch(*PAIRS))
    vectors.sum().backward()
    weights = dict(representation.transformer.named_parameters())
    assert {name for name, weight in weights.items() if weight.grad is not None} == {
        name for name in weights if ".query.lora_" in name
    }
    before = representation.eval()(**batch(*PAIRS))[0]
    torch.testing.assert_close(before, make()(**batch(*PAIRS))[0])


@pytest.mark.parametrize("options", [{"frozen_layers": 1}, {"lora": {"r": 2}}])
def test_state_without_fixed_weights_needs_the_same_transformer(make, options):
    if "lora" in options:
        pytest.importorskip("peft")
    whole, small = make(**options).state_dict(), make(**options, save_weights=False)
    state = small.state_dict()
    trained = {n for n, weight in small.named_parameters() if weight.requires_grad}
    assert state.keys() == trained | {"checksum"}
    assert sum(w.numel() for w in state.values()) < sum(w.numel() for w in whole.values()) / 2
    with torch.no_grad():
        for name in trained:
            state[name] = state[name] + 1
    other = make(**options, save_weights=False)
    other.load_state_dict(dict(state))
    expected = {**whole, **{name: state[name] for name in trained}}
    assert all(torch.equal(weight, expected[name]) for name, weight in other.named_parameters())
    with pytest.raises(ConfigurationError, match="expected the weights that the model was trained"):
        other.load_state_dict({**state, "checksum": state["checksum"] + 1})


def test_bfloat16_of_the_transformer_leaves_its_states_in_float32(make, batch):
    fields = batch(*PAIRS)
    expected, _ = make(last_layers=2)(**fields)
    representation = make(last_layers=2, precision="bfloat16", train=True)
    vectors, _ = representation.eval()(**fields)
    assert vectors.dtype == torch.float32 and not torch.equal(vectors, expected)
    torch.testing.assert_close(vectors, expected, atol=0.05, rtol=0.05)
    vectors.sum().backward()
    weights = representation.transformer.parameters()
    assert all(w.dtype == torch.float32 and w.grad.isfinite().all() for w in weights)


def test_weights_are_those_of_the_folder_unless_they_are_not_loaded(make, folder):
    from transformers import AutoModel

    weights = [
        model.get_input_embeddings().weight
        for model in (
            AutoModel.from_pretrained(folder),
            make().transformer,
            make(load_weights=False).transformer,
        )
    ]
    assert torch.equal(weights[0], weights[1]) and not torch.equal(weights[0], weights[2])


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (
            {"sub_token_mode": "sum"},
            "sub_token_mode: expected one of first, last, first_last, avg, got 'sum'",
        ),
        ({"precision": "half"}, "precision: expected float32 or bfloat16, got 'half'"),
        ({"lora": {"r": 2}, "frozen_layers": 0}, "lora: expected nothing frozen with it"),
        ({"save_weights": False, "load_weights": False}, "save_weights: expected true with random"),
        ({"last_layers": 3}, "last_layers: expected at most 2, the layers of the transformer"),
        ({"last_layers": 0}, "last_layers: expected an integer of at least 1"),
        ({"frozen_layers": 3}, "frozen_layers: expected null or an integer from 0 to 2"),
        ({"frozen_layers": "none"}, "frozen_layers: expected an integer, got 'none'"),
        ({"frozen_layers": 1, "train_parameters": False}, "frozen_layers: expected null where"),
        ({"frozen_layers": True}, "frozen_layers: expected an integer, got True"),
        ({"train_parameters": None}, "train_parameters: expected true or false, got None"),
        ({"pooling": "last", "sub_token_mode": "last"}, "sub_token_mode: expected this or pooling"),
        ({"state_cache": "", "frozen_layers": 1}, "state_cache: expected a folder, got ''"),
        ({"last_layers": 2, "last_layer_only": False}, "last_layers: expected 1 where"),
        ({"max_length": 65}, "and at most 64, the limit of the transformer, got 65"),
        ({"max_length": 4}, "max_length: expected an integer of at least [78]"),
        ({"model_name": "/none"}, "model_name: expected the folder of a pretrained transformer"),
    ],
)
def test_values_out_of_range_are_errors(make, option, message):
    with pytest.raises(ConfigurationError, match=message):
        make(**option)


def test_adapters_that_peft_refuses_are_an_error(make):
    pytest.importorskip("peft")
    for options in (
        {"rank": 2},
        {"r": 2, "target_modules": ["none"]},
        {"r": 0},
        {"bias": "x"},
        True,
    ):
        with pytest.raises(
            ConfigurationError, match="lora: expected options of LoraConfig of peft"
        ):
            make(lora=options)


def test_adapters_need_an_extra(make, monkeypatch):
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(UserError, match="lora: expected the extra lora, which is not installed"):
        make(lora={"r": 2})


def test_a_tokenizer_with_more_pieces_than_embeddings_is_an_error(make, monkeypatch):
    make().tokenizer  # noqa: B018  # in the cache
    monkeypatch.setattr(type(make().tokenizer), "__len__", lambda self: 999)
    with pytest.raises(ConfigurationError, match=r"got \d+ embeddings for 999 pieces in '/.*'"):
        make()


def test_word_similarity_of_the_reader_is_an_error(make, batch):
    fields = {**batch(PAIRS[0]), "similarity": torch.zeros(1, 5, 4)}
    with pytest.raises(ConfigurationError, match="word_similarity: expected false in a reader for"):
        make()(**fields)


def test_fields_without_word_pieces_are_an_error(make, batch):
    fields = batch(PAIRS[0])
    fields["source"] = {"tokens": {"tokens": torch.ones(1, 4)}}
    with pytest.raises(
        ConfigurationError, match="token indexers: expected word_pieces .* got tokens"
    ):
        make()(**fields)


def test_damaged_weights_are_an_error_but_for_those_of_the_pooler(make, folder, tmp_path, caplog):
    from safetensors.torch import load_file, save_file

    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    file = copy / "model.safetensors"
    weights = load_file(file)
    weights = {name: weight for name, weight in weights.items() if not name.startswith("pooler.")}
    save_file(weights, file, {"format": "pt"})
    make(model_name=str(copy))
    assert "pooler" not in caplog.text
    bias = weights.pop("encoder.layer.1.output.dense.bias")
    save_file(weights, file, {"format": "pt"})
    with pytest.raises(ConfigurationError, match="model_name: .*lacks 1 weights, such as encoder"):
        make(model_name=str(copy))
    weights["encoder.layer.1.output.dense.bias"] = torch.cat([bias, bias])
    save_file(weights, file, {"format": "pt"})
    with pytest.raises(ConfigurationError, match="model_name: .*mismatch"):
        make(model_name=str(copy))
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(ConfigurationError, match="model_name: expected the folder of a pretrained"):
        make(model_name=str(copy))


def test_a_tokenizer_that_knows_few_pieces_is_an_error(make, folder, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    for name in ("tokenizer.json", "vocab.txt"):
        (copy / name).unlink(missing_ok=True)
    with pytest.raises(ConfigurationError, match="model_name: expected "):
        make(model_name=str(copy))
