import pytest

from allennlp_nef.data.formats.word_alignments import check_alignments
from allennlp_nef.errors import DataFormatError


@pytest.mark.parametrize("pair", [[0], "0-0", None, [0.0, 1], [True, 0]])
def test_other_things_than_pairs_of_integers_are_refused(pair: object) -> None:
    with pytest.raises(DataFormatError) as info:
        check_alignments([(0, 0), pair], 3, 3)  # type: ignore[list-item]
    assert str(info.value) == (
        f"alignments: expected pairs (source index, target index), got {pair!r}"
    )


def test_pairs_become_tuples() -> None:
    assert check_alignments([[0, 1], (1, 0)], 2, 2) == [(0, 1), (1, 0)]
    with pytest.raises(DataFormatError, match="^here: expected target indices from 0 to 1, got -1"):
        check_alignments([(0, -1)], 2, 2, "here")
