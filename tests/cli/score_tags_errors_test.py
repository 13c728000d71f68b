"""`allennlp score-tags` on what cannot be scored: one line, and the exit status 2."""

import pytest

from tests.cli.conllu import conllu

GOLD = "a O\nb B-A\n\nc O\n"


class TestFiles:
    @pytest.mark.parametrize(
        "predicted, message",
        [
            ("a O\nx O\n\nc O\n", "{p}:2: expected the word 'b' of {g}:2, got 'x'"),
            (
                "a O\n\nc O\n",
                "{p}:2: expected the token of {g}:2, 'b', got the end of the sentence",
            ),
            (
                "a O\nb O\n",
                "{p}:3: expected a sentence such as that of {g}:4, got the end of the file",
            ),
            ("", "{p}:1: expected at least one sentence, got an empty file"),
            ("a O\nb\n", "{p}:2: expected 2 columns as in line 1, got 1: 'b'"),
            ("a O\nb A\n", "{p}:2: expected O or a chunk tag such as B-PER, got 'A' in column -1"),
        ],
    )
    def test_files_that_do_not_line_up(self, fail, write, predicted, message):
        gold, path = write("gold", GOLD), write("predicted", predicted)
        expected = "error: " + message.format(g=gold, p=path)
        assert fail(gold, path, "--format", "conll") == expected
        assert fail(gold, gold, path, "--format", "conll", "--json") == expected

    def test_encoding_is_used(self, score, tmp_path):
        path = tmp_path / "both"
        path.write_bytes(b"caf\xe9 O O\n")
        assert score(path, "--format", "conll", "--encoding", "latin-1").startswith("processed 1 ")

    def test_unlabeled_gold(self, fail, write):
        gold, predicted = write("gold", conllu("_", "_")), write("predicted", conllu("X", "Y"))
        message = f"error: {gold}:3: expected tags, got '_' for every word"
        assert fail(gold, predicted, "--format", "conllu") == message
        message = f"error: {gold}:3: expected tags, got '_' for every word"
        assert fail(predicted, gold, "--format", "conllu") == message

    def test_wmt_files_with_different_numbers_of_tags(self, fail, write):
        gold, predicted = write("gold", "OK OK\nOK\n"), write("predicted", "OK OK\nOK OK\n")
        assert fail(gold, predicted, "--format", "wmt") == (
            f"error: {predicted}:2: expected 1 tags as in {gold}:2 (3 where only one has gaps), got 2"
        )

    @pytest.mark.parametrize(
        "arguments, message",
        [
            (("--format", "wmt"), "PREDICTED: expected a file with predicted tags, got none"),
            (
                ("--format", "conll", "--runs", 2),
                "PREDICTED: expected a file with predicted tags, got none",
            ),
            (
                ("p", "p", "--runs", 2, "--format", "conll", "--trials", 9),
                "--trials: expected the files of two systems to compare, got no comparison",
            ),
            (
                ("p", "p", "--leaderboard", "--format", "conll", "--seed", 1),
                "--seed: expected the files of two systems to compare, got no comparison",
            ),
            (
                ("p", "p", "p", "--format", "conll"),
                "PREDICTED: expected 1 or 2 files (--runs 1), got 3",
            ),
            (
                ("--format", "conll", "--gold-column", -1),
                "--gold-column: expected another column than --predicted-column in one file, got -1",
            ),
            (
                ("p", "--format", "conllu", "--gold-column", 1),
                "--gold-column: expected --format conll, got conllu",
            ),
            (
                ("p", "--format", "conll", "--gaps", "no"),
                "--gaps: expected --format wmt, got conll",
            ),
        ],
    )
    def test_arguments_that_do_not_go_together(self, fail, arguments, message):
        assert fail("gold", *arguments) == f"error: {message}"
