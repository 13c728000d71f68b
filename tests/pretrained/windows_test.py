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
    expected = tokenizer(*texts, is_split_into_words=True)
    template = SpecialTokensTemplate(tokenizer, len(texts))
    alone = [
        tokenizer(text, is_split_into_words=True, add_special_tokens=False)["input_ids"]
        for text in texts
    ]
    ids, types, starts = template.fill(alone)
    assert ids == expected["input_ids"]
    assert types == expected.get("token_type_ids", [0] * len(ids))
    assert starts == [expected.sequence_ids().index(side) for side in range(len(texts))]
    assert template.num_special == len(ids) - sum(map(len, alone))


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
