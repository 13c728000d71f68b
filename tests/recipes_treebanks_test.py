"""The treebanks that recipes/treebanks.py collects."""

import struct
import zlib

import pytest

from tests.repositories import commit_all

pytestmark = pytest.mark.usefixtures("benchmarks")


def sentence(*rows):
    """A sentence in CoNLL-U, from its forms, tags, heads and relations."""
    return "\n".join(
        f"{i}\t{form}\t_\t{tag}\t_\t_\t{head}\t{relation}\t_\t_"
        for i, (form, tag, head, relation) in enumerate(rows, 1)
    )


def test_words_of_an_earlier_release_have_the_tags_of_words_like_them_now():
    from treebanks import rows_of, updated

    she_is_here = [
        ("она", "PRON", 3, "nsubj"),
        ("есть", "VERB", 3, "cop"),
        ("тут", "ADV", 0, "root"),
    ]
    there_is_tea = [("есть", "VERB", 0, "root"), ("чай", "NOUN", 1, "nsubj")]
    now = [
        sentence(she_is_here[0], ("есть", "AUX", 3, "cop"), she_is_here[2]),
        sentence(*there_is_tea),
    ]
    pairs = list(zip([sentence(*she_is_here), sentence(*there_is_tea)], now))
    earlier = sentence(
        ("он", "PRON", 3, "nsubj"), ("есть", "VERB", 3, "cop"), ("там", "ADV", 0, "root")
    )
    other = sentence(
        ("есть", "VERB", 0, "root"), ("и", "CONJ", 3, "cc"), ("хлеб", "NOUN", 1, "nsubj")
    )
    text = "# text = Он есть там\n1-2\tОнесть\t_\t_\t_\t_\t_\t_\t_\t_"
    first, second = updated([f"{text}\n{earlier}", other], pairs)
    assert [row[3] for row in rows_of(first)] == ["PRON", "AUX", "ADV"]
    assert first.startswith(text)
    assert [row[3] for row in rows_of(second)] == [
        "VERB",
        "CONJ",
        "NOUN",
    ]  # CONJ is not in the pairs


def test_sentences_of_the_same_characters_in_two_releases():
    from treebanks import characters

    now = sentence(("同樣", "ADV", 2, "advmod"), ("，", "PUNCT", 1, "punct"), ("Ａ", "X", 1, "dep"))
    assert characters(f"# text = 同樣，Ａ\n{now}") == characters(now) == "同樣,a"


def test_spaces_between_latin_words_in_chinese_text():
    from treebanks import with_text

    words = ["他", "在", "New", "York", ",", "2016", "年"]
    text, _ = with_text(sentence(*((word, "X", 0, "dep") for word in words))).split("\n", 1)
    assert text == "# text = 他在New York,2016年"


def test_japanese_words_and_their_tags_and_spaces():
    from treebanks import FIRST_UPOS, JAPANESE, NUM_ATTRIBUTES, POS, UPOS, japanese, rows_of

    tags, numbers = ["PROPN", "ADP", "VERB"], []
    for tag in tags:
        row = [7] * NUM_ATTRIBUTES
        row[POS] = FIRST_UPOS + UPOS.index(tag)
        numbers += row
    tokens = struct.pack(f"<{len(numbers)}Q", *numbers)
    packed = b"\xa6tokens\xc6" + struct.pack(">I", len(tokens)) + tokens
    packed += b"\xa6spaces\xc6" + struct.pack(">I", 3) + bytes([0, 1, 0])
    contents = ["東京\tB-GPE\nで\tO\n\n会う\tO\n".encode(), zlib.compress(packed)]
    first, second = japanese(dict(zip(JAPANESE.paths, contents)))
    assert first.startswith("# text = 東京で\n")
    assert [(row[1], row[3]) for row in rows_of(first)] == [("東京", "PROPN"), ("で", "ADP")]
    assert second.endswith("1\t会う\t_\tVERB" + "\t_" * 6)


@pytest.fixture
def clones(tmp_path, monkeypatch):
    """A clone of one treebank, read at its last commit."""
    import treebanks

    folder = tmp_path / "clones" / "UniversalDependencies+UD_Danish-DDT"
    folder.mkdir(parents=True)
    for part, words in {"train": "abcde", "dev": "efg", "test": "h"}.items():
        blocks = (sentence((word, "X", 0, "root")) for word in words)
        (folder / f"da_ddt-ud-{part}.conllu").write_text("\n\n".join(blocks) + "\n\n")

    commit = commit_all(folder)

    def set_parts(*parts):
        treebank = treebanks.Treebank(commit, parts)
        monkeypatch.setattr(treebanks, "TREEBANKS", {"Danish-DDT": treebank})

    return folder.parent, set_parts


@pytest.mark.parametrize(
    "parts, tested, training, dev",
    [
        (["train"], False, "abcd", "efg"),  # e is in the dev set
        (["dev"], False, "efg", ""),
        (["dev"], True, "g", "ef"),
        (["da_ddt-ud-t", "docs/"], False, "abcd", "efg"),  # neither h, which is in the test set
    ],
)
def test_held_out_sentences_are_not_for_training(
    clones, tmp_path, monkeypatch, parts, tested, training, dev
):
    import treebanks

    folder, set_parts = clones
    set_parts(*parts)
    monkeypatch.setattr(treebanks, "TESTS", ["Danish-DDT"] if tested else [])
    monkeypatch.setattr(treebanks, "NUM_HELD_OUT", 2)
    treebanks.write_treebank(folder, "Danish-DDT", tmp_path / "out")

    def words(kind):
        path = tmp_path / "out" / kind / "Danish-DDT.conllu"
        return (
            "".join(line.split("\t")[1] for line in path.read_text().split("\n") if line)
            if path.exists()
            else ""
        )

    assert (words("all"), words("dev"), words("test")) == (training, dev, "h" if tested else "")


def test_a_missing_clone_is_named(tmp_path, monkeypatch):
    import treebanks

    monkeypatch.setattr(treebanks, "find_spec", lambda name: True)
    monkeypatch.setattr("sys.argv", ["treebanks.py", str(tmp_path), "--output", str(tmp_path)])
    with pytest.raises(SystemExit, match="Albanian-STAF: expected .* got fatal: cannot change to"):
        treebanks.main()
