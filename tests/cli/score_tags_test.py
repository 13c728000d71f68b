"""`allennlp score-tags`: what it prints of one system."""

import pytest


def conllu(*tags, column=3):
    """A sentence of at least two words, the first two of them a multiword token, with tags in a column from 0."""
    lines = []
    for number, tag in enumerate(tags, 1):
        row = [str(number), f"w{number}"] + ["_"] * 8
        row[column] = tag
        lines.append("\t".join(row))
    return "# text = x\n1-2\tw" + "\t_" * 8 + "\n" + "\n".join(lines) + "\n\n"


# Columns, and what conlleval prints of them.
CONLLEVAL = {
    "well-formed": (
        "Alice B-PER B-PER\nvisited O O\nNew B-LOC B-LOC\nYork I-LOC B-LOC\n. O O\n",
        """processed 5 tokens with 2 phrases; found: 3 phrases; correct: 1.
accuracy:  80.00%; precision:  33.33%; recall:  50.00%; FB1:  40.00
              LOC: precision:   0.00%; recall:   0.00%; FB1:   0.00  2
              PER: precision: 100.00%; recall: 100.00%; FB1: 100.00  1
""",
    ),
    "I after O": (
        "a O O\nb I-PER B-PER\nc I-PER I-PER\n",
        """processed 3 tokens with 1 phrases; found: 1 phrases; correct: 1.
accuracy:  66.67%; precision: 100.00%; recall: 100.00%; FB1: 100.00
              PER: precision: 100.00%; recall: 100.00%; FB1: 100.00  1
""",
    ),
    "another type": (
        "a B-PER B-PER\nb I-LOC I-PER\n",
        """processed 2 tokens with 2 phrases; found: 1 phrases; correct: 0.
accuracy:  50.00%; precision:   0.00%; recall:   0.00%; FB1:   0.00
              LOC: precision:   0.00%; recall:   0.00%; FB1:   0.00  0
              PER: precision:   0.00%; recall:   0.00%; FB1:   0.00  1
""",
    ),
    "-X-": (
        "a B-PER B-PER\n-X- I-PER I-PER\nb I-PER I-PER\n",
        """processed 2 tokens with 2 phrases; found: 2 phrases; correct: 2.
accuracy: 100.00%; precision: 100.00%; recall: 100.00%; FB1: 100.00
              PER: precision: 100.00%; recall: 100.00%; FB1: 100.00  2
""",
    ),
    "an empty line": (
        "a O B-PER\nb B-PER I-PER\n\nc I-PER I-PER\n",
        """processed 3 tokens with 2 phrases; found: 2 phrases; correct: 1.
accuracy:  33.33%; precision:  50.00%; recall:  50.00%; FB1:  50.00
              PER: precision:  50.00%; recall:  50.00%; FB1:  50.00  2
""",
    ),
    "no phrases": (
        "a O O\nb O O\n",
        """processed 2 tokens with 0 phrases; found: 0 phrases; correct: 0.
accuracy: 100.00%; precision:   0.00%; recall:   0.00%; FB1:   0.00
""",
    ),
    "hyphens": (
        "a B-X-Y B-X-Y\nb I-X-Y I-X-Z\nc O O\n",
        """processed 3 tokens with 1 phrases; found: 2 phrases; correct: 0.
accuracy:  66.67%; precision:   0.00%; recall:   0.00%; FB1:   0.00
              X-Y: precision:   0.00%; recall:   0.00%; FB1:   0.00  1
              X-Z: precision:   0.00%; recall:   0.00%; FB1:   0.00  1
""",
    ),
    "BIOUL": (
        "a U-LOC B-LOC\nb O O\nc B-PER B-PER\nd L-PER I-PER\n",
        """processed 4 tokens with 2 phrases; found: 2 phrases; correct: 2.
accuracy: 100.00%; precision: 100.00%; recall: 100.00%; FB1: 100.00
              LOC: precision: 100.00%; recall: 100.00%; FB1: 100.00  1
              PER: precision: 100.00%; recall: 100.00%; FB1: 100.00  1
""",
    ),
}


def columns_of(text, *columns):
    rows = [line.split() for line in text.split("\n")]
    return "\n".join(" ".join(row[c] for c in columns if row) for row in rows)


@pytest.mark.parametrize("text, expected", CONLLEVAL.values(), ids=CONLLEVAL)
class TestConlleval:
    def test_one_file_prints_the_text_of_the_script(self, score, write, text, expected):
        assert score(write("both", text), "--format", "conll") == expected

    def test_two_files_print_the_text_of_the_script(self, score, write, text, expected):
        gold, predicted = columns_of(text, 0, 1), columns_of(text, 0, 2)
        assert score(write("g", gold), write("p", predicted), "--format", "conll") == expected


def test_columns_can_be_chosen(score, write):
    text, expected = CONLLEVAL["well-formed"]
    reordered = write("reordered", columns_of(text, 0, 2, 1))
    both, gold = write("both", text), write("gold", columns_of(text, 0, 1))
    for arguments in (
        (reordered, "--gold-column", -1, "--predicted-column", -2),
        (reordered, "--gold-column", 2, "--predicted-column", 1),
        (gold, both),
        (gold, reordered, "--predicted-column", 1),
        (both, both, "--gold-column", -2),
    ):
        assert score(*arguments, "--format", "conll") == expected


def test_lines_between_documents_are_not_tokens(score, write):
    text, expected = CONLLEVAL["well-formed"]
    gold = write("gold", "-DOCSTART- O\n\n" + columns_of(text, 0, 1))
    predicted = write("predicted", columns_of(text, 0, 2))
    assert score(gold, predicted, "--format", "conll") == expected
    assert score(predicted, predicted, "--format", "conll").startswith("processed 5 tokens")


def test_germeval_is_scored_by_its_words_without_its_comments(score, fail, write):
    gold = write("gold", "#\tx\n1\t#\tO\tO\n2\tBerlin\tB-LOC\tO\n\n#\ty\n1\tEss\tO\tO\n")
    options = ("--format", "conll", "--comment-prefix", "#", "--word-column", "1")
    both = write("both", "1 # O O O\n2 Berlin O B-LOC B-LOC\n\n1 Ess O O B-ORG\n")
    expected = "processed 3 tokens with 1 phrases; found: 2 phrases; correct: 1."
    assert expected in score(both, "--format", "conll", "--word-column", "1")
    predicted = write("predicted", "1 # O O\n2 Berlin O B-LOC\n\n1 Ess O B-ORG\n")
    assert expected in score(gold, predicted, *options, "--gold-column", "2")
    other = write("predicted", "1 # O O\n2 Bern O B-LOC\n\n1 Ess O B-ORG\n")
    assert "expected the word 'Berlin'" in fail(gold, other, *options, "--gold-column", "2")


def test_another_scheme_changes_the_accuracy_and_is_warned_of(score, write, caplog):
    """The chunks are the same. The accuracy is conlleval's, and a warning says what it means."""
    expected = "processed 2 tokens with 1 phrases; found: 1 phrases; correct: 1.\naccuracy:  50.00%; precision: 100.00%"
    bio, iob1, bioul = (write(name, f"a {name}-A\nb O\n") for name in ("B", "I", "U"))
    assert score(iob1, bio, "--format", "conll").startswith(expected)
    assert f"the gold tags of {iob1} are not: the accuracy compares" in caplog.text
    caplog.clear()
    assert score(bio, iob1, "--format", "conll").startswith(expected)
    assert score(bioul, bio, "--format", "conll").startswith(expected.replace(" 50", "100"))
    assert not caplog.records


def test_other_tags_are_scored_one_by_one(score, write):
    path = write("both", "a N N\nb V N\n\nc N N\n")
    assert (
        score(path, "--format", "conll", "--no-chunks")
        == """processed 3 tokens in 2 sentences
accuracy:  66.67

precision  recall      F1     gold  predicted  tag
    66.67  100.00   80.00        2          3  N
     0.00    0.00    0.00        1          0  V
"""
    )


@pytest.mark.parametrize(
    "arguments, column, other",
    [((), 3, "Z"), (("--column", "xpos"), 4, "_"), (("--column", "feats"), 5, "_")],
)
def test_a_column_of_conllu_is_scored(score, write, arguments, column, other):
    gold = write("gold", conllu("X", "Y", column=column) + conllu("X", other, column=column))
    predicted = write(
        "predicted", conllu("X", "X", column=column) + conllu("X", "Y", column=column)
    )
    assert (
        score(gold, predicted, "--format", "conllu", *arguments)
        == f"""processed 4 tokens in 2 sentences
accuracy:  50.00

precision  recall      F1     gold  predicted  tag
    66.67  100.00   80.00        2          3  X
     0.00    0.00    0.00        1          1  Y
     0.00    0.00    0.00        1          0  {other}
"""
    )


WMT = """processed 5 tokens in 2 sentences{}
F1-OK:  66.67; F1-BAD:  50.00; F1-MULT:  33.33; MCC:  16.67; accuracy:  60.00

precision  recall      F1     gold  predicted  tag
    50.00   50.00   50.00        2          2  BAD
    66.67   66.67   66.67        3          3  OK
"""


def test_word_tags_are_scored_without_those_of_gaps(score, write):
    gold, predicted = write("g", "BAD OK\nOK BAD OK\n"), write("p", "BAD BAD\nOK OK OK\n")
    assert score(gold, predicted, "--format", "wmt") == WMT.format("")
    gaps = write("gaps", "OK BAD OK OK OK\nBAD OK BAD BAD OK OK BAD\n")
    note = " (left out: the gaps of {})"
    assert score(gaps, predicted, "--format", "wmt") == WMT.format(note.format(gaps))
    other = write("other", "OK BAD OK BAD OK\nBAD OK BAD OK OK OK BAD\n")
    assert score(gaps, other, "--format", "wmt", "--gaps", "yes") == WMT.format(
        note.format(f"{gaps}, {other}")
    )
    assert score(gaps, other, "--format", "wmt", "--gaps", "no").startswith("processed 12 tokens")


GOLD = "a O\nb B-A\n\nc O\n"


class TestErrors:
    def test_files_that_do_not_line_up(self, fail, write):
        gold, path = write("gold", GOLD), write("predicted", "a O\nx O\n\nc O\n")
        expected = f"error: {path}:2: expected the word 'b' of {gold}:2, got 'x'"
        assert fail(gold, gold, path, "--format", "conll", "--json") == expected

    def test_encoding_is_used(self, score, tmp_path):
        path = tmp_path / "both"
        path.write_bytes(b"caf\xe9 O O\n")
        assert score(path, "--format", "conll", "--encoding", "latin-1").startswith("processed 1 ")

    @pytest.mark.parametrize(
        "line, message",
        [
            ("--format wmt", "PREDICTED: expected a file with predicted tags, got none"),
            (
                "p p --runs 2 --format conll --trials 9",
                "--trials: expected the files of two systems to compare, got no comparison",
            ),
            ("p p p --format conll", "PREDICTED: expected 1 or 2 files (--runs 1), got 3"),
            (
                "--format conll --gold-column -1",
                "--gold-column: expected another column than --predicted-column in one file, got -1",
            ),
            ("p --format conll --gaps no", "--gaps: expected --format wmt, got conll"),
        ],
    )
    def test_arguments_that_do_not_go_together(self, fail, line, message):
        assert fail("gold", *line.split()) == f"error: {message}"
