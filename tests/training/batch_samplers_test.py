import random

import pytest
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import BatchSampler, DatasetReader, Vocabulary

import allennlp_nef  # noqa: F401  # registers
from tests.small_transformer import save_bert

LENGTHS = [3, 40, 1, 1, 17, 3, 9, 2, 60, 60]


def read(indexers):
    """Pairs with a word of one letter, and a word of so many letters, each of which is a piece."""
    reader = DatasetReader.from_params(
        Params({"type": "sentence_pairs", "token_indexers": indexers})
    )
    instances = [reader.text_to_instance("a", "b" * length) for length in LENGTHS]
    for instance in instances:
        reader.apply_token_indexers(instance)
        instance.index_fields(Vocabulary())
    return instances


@pytest.fixture
def instances(tmp_path):
    save_bert(tmp_path / "bert")
    return read({"any": {"type": "word_pieces", "model_name": str(tmp_path / "bert")}})


def batches(instances, **options):
    sampler = BatchSampler.from_params(Params({"type": "max_pieces", **options}))
    return list(sampler.get_batch_indices(instances)), sampler.get_num_batches(instances)


@pytest.mark.parametrize("max_pieces", [1, 20, 45, 1000])
def test_each_batch_has_at_most_so_many_pieces(instances, max_pieces):
    groups, number = batches(instances, max_pieces=max_pieces, padding_noise=0.0)
    assert sorted(sum(groups, [])) == list(range(len(LENGTHS)))
    for group in groups:
        sizes = [LENGTHS[i] + 1 for i in group]
        assert len(group) == 1 or max(sizes) * len(group) <= max_pieces
    assert number == {1: 10, 20: 6, 45: 5, 1000: 1}[max_pieces]


def test_epochs_have_other_batches(instances):
    random.seed(0)
    chosen = [batches(5 * instances, max_pieces=45, padding_noise=0.5)[0] for _ in range(5)]
    assert len({str(sorted(map(sorted, groups))) for groups in chosen}) == 5


def test_wrong_sizes_and_instances_without_pieces_are_errors(instances):
    with pytest.raises(ConfigurationError, match="max_pieces: expected an integer of at least 1"):
        batches(instances, max_pieces=0)
    with pytest.raises(ConfigurationError, match="padding_noise: expected a number of at least 0"):
        batches(instances, max_pieces=9, padding_noise=1.5)
    with pytest.raises(ConfigurationError, match="with the token indexer word_pieces, got none"):
        batches(read({"tokens": {"type": "single_id"}}), max_pieces=9)
