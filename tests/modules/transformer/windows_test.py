"""How texts are laid out and divided, without a transformer."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from allennlp_nef.data.word_pieces import load_tokenizer
from allennlp_nef.modules.transformer import MIN_ROOM, Template, pool_words, windows_of
from tests.small_transformer import SAVE


@pytest.mark.parametrize("kind", SAVE)
@pytest.mark.parametrize("texts", [(["She", "met"],), (["She", "met"], ["Sie", "traf", "ihn"])])
def test_a_window_is_laid_out_as_the_tokenizer_does(kind, texts, tmp_path):
    SAVE[kind](tmp_path / kind)
    tokenizer = load_tokenizer(str(tmp_path / kind))
    expected = tokenizer(*texts, is_split_into_words=True)
    template = Template(tokenizer, len(texts))
    alone = [
        tokenizer(text, is_split_into_words=True, add_special_tokens=False)["input_ids"]
        for text in texts
    ]
    ids, types, starts = template.fill(alone)
    assert ids == expected["input_ids"]
    assert types == expected.get("token_type_ids", [0] * len(ids))
    assert starts == [expected.sequence_ids().index(side) for side in range(len(texts))]
    assert template.num_special == len(ids) - sum(map(len, alone))


def check_windows(lengths, room):
    windows = windows_of(lengths, room)
    assert (len(windows) == 1) is (sum(lengths) <= room)
    for spans in windows:
        assert sum(span.end - span.begin for span in spans) <= room
    for length, spans in zip(lengths, zip(*windows)):
        # Each piece gets its vector from exactly one window, which reads it.
        assert [span.first for span in spans] == [0, *(span.last for span in spans[:-1])]
        assert spans[-1].last == length
        for span in spans:
            assert 0 <= span.begin <= span.first <= span.last <= span.end <= length
        size = spans[0].end - spans[0].begin
        for left, right in pairwise(spans):
            assert size == right.end - right.begin
            assert left.end - right.begin >= size / 2 or size == 1
        if size < length:
            centers = torch.tensor([(span.begin + span.end) / 2 for span in spans])
            for span, center in zip(spans, centers):
                for piece in range(span.first, span.last):
                    distances = (piece + 0.5 - centers).abs()
                    assert (piece + 0.5 - center).abs() <= distances.min() + 0.5


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.integers(0, 100), st.integers(MIN_ROOM, 40))
def test_windows_of_a_sentence(length, room):
    check_windows([length], room)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.integers(0, 60), st.integers(0, 60), st.integers(MIN_ROOM, 40))
def test_windows_of_a_pair(source, target, room):
    check_windows([source, target], room)


def test_a_short_sentence_is_whole_in_each_window():
    windows = windows_of([4, 40], 20)
    assert {span[:2] for span, _ in windows} == {(0, 4)}
    assert [span[:2] for _, span in windows] == [(0, 16), (8, 24), (16, 32), (24, 40)]
    assert [span[2:] for span, _ in windows] == [(0, 1), (1, 2), (2, 3), (3, 4)]


@pytest.mark.parametrize("mode", ["first", "avg"])
def test_words_are_pooled_from_their_pieces(mode):
    torch.manual_seed(0)
    sentences = [[1, 3, 2], [2], []]
    pieces = torch.randn(3, 6, 5)
    counts = torch.tensor([[1, 3, 2], [2, 0, 0], [0, 0, 0]])
    words = pool_words(pieces, counts, mode)
    expected = torch.zeros(3, 3, 5)
    for row, sizes in enumerate(sentences):
        for word, states in enumerate(pieces[row, : sum(sizes)].split(sizes)):
            expected[row, word] = states[0] if mode == "first" else states.mean(0)
    torch.testing.assert_close(words, expected)
