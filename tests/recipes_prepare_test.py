"""The models that recipes/prepare_models.py prepares, and the rows of benchmarks/speed.py."""

import pytest
import torch

from allennlp_nef import load

pytestmark = pytest.mark.usefixtures("benchmarks")


def test_an_archive_with_weights_of_16_bits(archive_path, tmp_path):
    from prepare_models import packaged

    packaged("qe-multilingual", archive_path, tmp_path / "half.tar.gz")
    assert (tmp_path / "half.tar.gz").stat().st_size < 0.6 * archive_path.stat().st_size
    full, half = (load(str(path)) for path in (archive_path, tmp_path / "half.tar.gz"))
    for weights, rounded in zip(full._model.parameters(), half._model.parameters()):
        torch.testing.assert_close(rounded, weights, rtol=1e-3, atol=1e-6)  # of the same type


IOB = """# text = L'Allemagne joue.
1\tL'\tO
2\tAllemagne\tB-LOC
3\tjoue\tO
4\t.\tO

# text = 東京都です
1\t東京都\tB-LOC
2\tです\tO
"""


def test_tags_are_projected_to_raw_text(tmp_path):
    from tagging_data import as_raw, offsets_of, read_sentences

    from allennlp_nef.data.tokenizers import PunctuationTokenizer

    (tmp_path / "a.iob2").write_text(IOB, "utf-8")
    first, second = read_sentences(tmp_path / "a.iob2")
    text, words, joined = first
    raw = as_raw(text, words, offsets_of(text, words, joined), PunctuationTokenizer())
    assert raw == words
    text, words, joined = second
    tokenizer = PunctuationTokenizer(split_cjk=True)
    raw = as_raw(text, words, offsets_of(text, words, joined), tokenizer)
    assert [tag for _, tag in raw] == ["B-LOC", "I-LOC", "I-LOC", "O", "O"]
    with pytest.raises(ValueError):
        offsets_of("L'Allemagne ne joue.", [("L'", "O"), ("joue", "O")], [])


CONLLU = """# text = Vamos del mar
1\tVamos\t_\tVERB
2-3\tdel\t_\t_
2\tde\t_\tADP
3\tel\t_\tDET
4\tmar\t_\tNOUN
"""


def test_a_multiword_token_has_the_tag_of_its_first_word(tmp_path):
    from tagging_data import as_raw, offsets_of, read_sentences

    from allennlp_nef.data.tokenizers import PunctuationTokenizer

    (tmp_path / "a.conllu").write_text(CONLLU, "utf-8")
    ((text, words, joined),) = read_sentences(tmp_path / "a.conllu")
    raw = as_raw(text, words, offsets_of(text, words, joined), PunctuationTokenizer())
    assert raw == [("Vamos", "VERB"), ("del", "ADP"), ("mar", "NOUN")]


@pytest.mark.parametrize("line", ["1 Ann B-PER", "1\tAnn", "1-\tAnn\tO", " "])
def test_wrong_lines_of_tagged_sentences_are_named(tmp_path, monkeypatch, line):
    from tagging_data import main

    path = tmp_path / "a.iob2"
    path.write_text(f"1\tAnn\tB-PER\n\n{line}\n")
    monkeypatch.setattr("sys.argv", ["tagging_data.py", str(path), "--output", f"{tmp_path}/out"])
    with pytest.raises(SystemExit, match=r"a\.iob2:3: "):
        main()


@pytest.mark.parametrize("inputs", [["out/a.iob2"], ["a.iob2", "b/a.iob2"]])
def test_no_output_replaces_an_input_or_another_output(tmp_path, monkeypatch, inputs):
    from tagging_data import main

    paths = [str(tmp_path / name) for name in inputs]
    monkeypatch.setattr("sys.argv", ["tagging_data.py", *paths, "--output", f"{tmp_path}/out"])
    with pytest.raises(SystemExit) as error:
        main()
    assert error.value.code == 2 and not (tmp_path / "out").exists()


def test_shares_of_cases_are_as_given(tmp_path, monkeypatch):
    from tagging_data import main

    path, output = tmp_path / "a.iob2", tmp_path / "out"
    path.write_text("1\tAnn\tB-PER\n2\tsings\tO\n\n" * 100, "utf-8")
    arguments = ["tagging_data.py", str(path), "--output", str(output), "--lower-case", "0.3"]
    monkeypatch.setattr("sys.argv", [*arguments, "--capitals", "0.7"])
    main()
    text = (output / "a.iob2").read_text("utf-8")
    assert "Ann" not in text and text.count("ann") + text.count("ANN") == 100
    assert 15 < text.count("ann") < 45
    monkeypatch.setattr("sys.argv", [*arguments, "--capitals", "0.8"])
    with pytest.raises(SystemExit) as error:
        main()
    assert error.value.code == 2


def test_sentences_of_test_sets_are_left_out(tmp_path, monkeypatch):
    from tagging_data import main

    (tmp_path / "a.iob2").write_text("1\tAnn\tB-PER\n\n1\tBo\tB-PER\n", "utf-8")
    (tmp_path / "test.iob2").write_text("1\tANN\tO\n", "utf-8")
    paths = [f"{tmp_path}/{name}" for name in ("a.iob2", "out", "test.iob2")]
    arguments = [paths[0], "--output", paths[1], "--exclude", paths[2], "--lower-case", "0"]
    monkeypatch.setattr("sys.argv", ["tagging_data.py", *arguments, "--capitals", "0"])
    main()
    text = (tmp_path / "out" / "a.iob2").read_text("utf-8")
    assert "Ann" not in text and "1\tBo\tB-PER" in text


def test_a_row_says_whether_its_aim_is_missed(tmp_path):
    from speed import Row, Settings, decoders

    assert str(Row("step", "ours", "theirs", 3.0, 1.0, 2.5)).endswith("2.5, missed |")
    assert "| 3.00 |" in str(Row("step", "ours", "theirs", 3.0, 1.0))
    assert next(decoders(Settings(tmp_path, quick=True), "decoder")).ours > 0
