"""The translations of recipes/minimal_pairs.py."""

import json

import pytest

pytestmark = pytest.mark.usefixtures("benchmarks")

SENTENCES = """\
The cat is black.\tDe kat is zwart.\tCC-BY
The cat is brown.\tDe kat is bruin.
You are nice.\tJij bent aardig.
You are nice.\tJe bent aardig.
You are late.\tJij bent te laat.
You are late.\tJe bent te laat.
He saw a dog.\tHij zag een hond.
He saw the dog.\tHij zag de hond.
I am here.\tIk ben hier.
I am not here.\tIk ben niet hier.
Good morning.\tGoedemorgen.
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """The lines of each file that the recipe writes, as a function of its arguments."""
    from minimal_pairs import main

    path = tmp_path / "nld.txt"
    path.write_text(SENTENCES, encoding="utf-8")

    def run(*arguments):
        output = tmp_path / "out"
        arguments = ["minimal_pairs.py", str(path), "--output", str(output), *arguments]
        monkeypatch.setattr("sys.argv", arguments)
        main()
        files = sorted(output.iterdir())
        return {file.stem: [*map(json.loads, file.open(encoding="utf-8"))] for file in files}

    return run


def marked(row):
    """The words and gaps of a line with asterisks where they are BAD."""
    words = ["", *(item for word in row["target"] for item in (word, ""))]
    marks = [word + "*" * (tag == "BAD") for word, tag in zip(words, row["tags"])]
    return " ".join(row["source"]), " ".join(filter(None, marks))


def test_errors_are_the_words_of_another_sentence_but_no_synonyms_or_articles(run):
    rows = run("--seed", "3")
    assert {marked(row) for row in rows["eng-nld"] if row["critical"]} == {
        ("The cat is black .", "De kat is bruin* ."),
        ("The cat is brown .", "De kat is zwart* ."),
        ("I am here .", "Ik ben niet* hier ."),
        ("I am not here .", "Ik ben * hier ."),
    }
    assert {marked(row) for row in rows["nld-eng"] if row["critical"]} == {
        ("De kat is zwart .", "The cat is brown* ."),
        ("De kat is bruin .", "The cat is black* ."),
        ("Ik ben hier .", "I am not* here ."),
        ("Ik ben niet hier .", "I am * here ."),
        ("Je bent aardig .", "You are late* ."),
        ("Je bent te laat .", "You are nice* ."),
    }
    pairs = {tuple(line.split("\t")[:2]) for line in SENTENCES.splitlines()}
    for name, lines in rows.items():
        for row in lines[::2]:
            sides = [" ".join(row[side]).replace(" .", ".") for side in ("source", "target")]
            assert tuple(sides if name == "eng-nld" else sides[::-1]) in pairs
            assert row["critical"] == row["hter"] == 0


def test_number_of_errors_is_limited(run):
    assert all(len(lines) == 2 for lines in run("--most", "1").values())


def test_a_line_with_one_sentence_is_an_error(run, tmp_path):
    (tmp_path / "nld.txt").write_text("A cat.\tEen kat.\nA dog.\n", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"nld\.txt:2: "):
        run()
