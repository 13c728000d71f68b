"""`allennlp score-tags` on what cannot be scored: one line, and the exit status 2."""

import pytest

GOLD = "a O\nb B-A\n\nc O\n"


class TestFiles:
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
