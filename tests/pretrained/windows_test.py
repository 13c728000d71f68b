"""How texts are laid out and divided, without a transformer."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from allennlp_nef.pretrained.loading import load_tokenizer
from allennlp_nef.pretrained.windows import MIN_ROOM, SpecialTokensTemplate, windows_of
from tests.small_transformer import SAVE


@pytest.mark.parametrize("kind", SAVE)
@pytest.mark.parametrize("texts", [(["She", "met"],), (["She", "met"], ["Sie", "traf", "ihn"])])
def test_a_window_is_laid_out_as_the_tokenizer_does(kind, texts, tmp_path):
    SAVE[kind](tmp_path / kind)
    tokenizer = load_tokenizer(str(tmp_path / kind))
    expected = tokenizer.encode(*texts, is_pretokenized=True)
    template = SpecialTokensTemplate(tokenizer, len(texts))
    options = {"is_pretokenized": True, "add_special_tokens": False}
    alone = [tokenizer.encode(text, **options).ids for text in texts]
    # A second window has no pieces.
    sides = [torch.tensor([ids, ids]) for ids in alone]
    ends = torch.tensor([[*map(len, alone)], [0] * len(alone)])
    ids, types, is_piece, starts = template.fill(sides, torch.zeros_like(ends), ends)
    assert ids[0].tolist() == expected.ids and types[0].tolist() == expected.type_ids
    assert is_piece.sum(1).tolist() == [len(expected.ids), template.num_special]
    assert starts[0].tolist() == [expected.sequence_ids.index(side) for side in range(len(texts))]
    assert template.num_special == len(expected.ids) - sum(map(len, alone))


def test_a_window_has_a_part_of_the_pieces(tmp_path):
    SAVE["bert"](tmp_path / "bert")
    template = SpecialTokensTemplate(load_tokenizer(str(tmp_path / "bert")), 1)
    pieces = torch.arange(10, 20).expand(2, -1)
    begins, ends = torch.tensor([[2], [5]]), torch.tensor([[4], [10]])
    ids, _, is_piece, starts = template.fill([pieces], begins, ends)
    assert ids[0][is_piece[0]].tolist()[1:-1] == [12, 13] and starts.tolist() == [[1], [1]]
    assert ids[1][is_piece[1]].tolist()[1:-1] == [15, 16, 17, 18, 19]


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 60), min_size=1, max_size=2), st.integers(MIN_ROOM, 40))
def test_windows_of_a_sentence_or_a_pair(lengths, room):
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


def test_a_short_sentence_is_whole_in_each_window():
    windows = windows_of([4, 40], 20)
    assert {span[:2] for span, _ in windows} == {(0, 4)}
    assert [span[:2] for _, span in windows] == [(0, 16), (8, 24), (16, 32), (24, 40)]
    assert [span[2:] for span, _ in windows] == [(0, 1), (1, 2), (2, 3), (3, 4)]
