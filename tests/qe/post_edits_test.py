"""Tags and HTER from post-edits, and the command that writes them."""

import pytest

from allennlp_nef.cli.label_post_edits import label_post_edits
from allennlp_nef.errors import DataFormatError, UserError
from allennlp_nef.qe.files import ReadOptions, read_examples
from allennlp_nef.qe.post_edits import hter_of, tags_of

pytest.importorskip("sacrebleu")
# A translation, its post-edit, the tags of words and gaps (x: BAD), and HTER.
CASES = [
    ("a b c", "a b c", "-------", 0.0),
    ("a b c", "a x c", "---x---", 1 / 3),
    ("a b c", "a c", "---x---", 1 / 2),
    ("a c", "a b c", "--x--", 1 / 3),
    ("b", "a b c", "x-x", 2 / 3),
    ("A b", "a b", "-x---", 0.0),
    ("a b c d", "d a b c", "x------x-", 1 / 4),  # HTER counts a shift as one edit
    ("a b", "", "-x-x-", 1.0),
    ("x y z", "a", None, 1.0),
]


@pytest.mark.parametrize(("translation", "post_edit", "tags", "hter"), CASES)
def test_tags_and_hter_follow_from_the_edits(translation, post_edit, tags, hter):
    words, edited = translation.split(), post_edit.split()
    if tags is not None:
        assert tags_of(words, edited) == [{"-": "OK", "x": "BAD"}[tag] for tag in tags]
    assert len(tags_of(words, edited)) == 2 * len(words) + 1
    assert hter_of(words, edited) == pytest.approx(hter)


@pytest.mark.parametrize("eos", [False, True])
def test_files_are_training_data(tmp_path, eos):
    rows = [case for case in CASES if case[2] is not None]
    for ending, column in (("src", 0), ("mt", 0), ("pe", 1)):
        (tmp_path / f"x.{ending}").write_text("".join(f"{row[column]}\n" for row in rows))
    prefix = str(tmp_path / "x")
    figures = label_post_edits(f"{prefix}.mt", f"{prefix}.pe", output=prefix, eos=eos)
    assert figures["sentences"] == len(rows)
    assert figures["hter"] == pytest.approx(sum(row[3] for row in rows) / len(rows))
    examples = list(read_examples(prefix, ReadOptions(eos=True, sentence_scores=True)))
    for example, (*_, tags, hter) in zip(examples, rows, strict=True):
        words, gaps = tags[1::2], tags[::2]
        bad = ["x" in pair for pair in zip([*words, "-"], gaps)]
        assert [tag == "BAD" for tag in example.tags] == bad
        assert example.score == pytest.approx(hter, abs=1e-6)


def test_bad_files_are_refused_and_nothing_is_written(tmp_path):
    for mt, pe, line in (("a\n\n", "a\nb\n", 2), ("a\nb\n", "a\n", 2)):
        (tmp_path / "x.mt").write_text(mt)
        (tmp_path / "x.pe").write_text(pe)
        with pytest.raises(DataFormatError, match=rf"x\.\w\w:{line}: "):
            label_post_edits(
                *(str(tmp_path / f"x.{e}") for e in ("mt", "pe")), output=f"{tmp_path}/y"
            )
        assert not list(tmp_path.glob("y*"))
    with pytest.raises(UserError):
        label_post_edits(f"{tmp_path}/x.tags", f"{tmp_path}/x.pe", output=f"{tmp_path}/x")
