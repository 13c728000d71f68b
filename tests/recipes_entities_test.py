"""The sets of named entities that recipes/entity_sets.py converts."""

import re
import subprocess

import pytest

from tests.repositories import commit_all

pytestmark = pytest.mark.usefixtures("benchmarks")

NORNE = """# text = Universitetet i Oslo vant.
1\tUniversitetet\t_\t_\t_\t_\t_\t_\t_\tname=B-ORG
2\ti\t_\t_\t_\t_\t_\t_\t_\tname=I-ORG
3\tOslo\t_\t_\t_\t_\t_\t_\t_\tname=I-ORG
4\tvant\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No|name=O
5\t.\t_\t_\t_\t_\t_\t_\t_\tname=O

# text = Ring Ida i dag
1\tRing\t_\t_\t_\t_\t_\t_\t_\tname=O
2\tIda\t_\t_\t_\t_\t_\t_\t_\tname=B-PER

# text = Ring Ida
1\tRing\t_\t_\t_\t_\t_\t_\t_\tname=O
2\tIda\t_\t_\t_\t_\t_\t_\t_\tname=B-PER
"""
KLUE = """## 주석 : ##
## 문장명 : CHAR\tNE_TAG
## klue-ner-v1_dev_00000-wikitree\t<서울:LC>의 <3일:DT>
서\tB-LC
울\tI-LC
의\tO
 \tO
3\tB-DT
일\tI-DT
"""
HEBREW = """# text = לאוניברסיטת חיפה
1-2\tלאוניברסיטת\t_\t_\t_\t_\t_\t_\t_\t_
1\tל\t_\t_\t_\t_\t_\t_\t_\t_
2\tאוניברסיטת\t_\t_\t_\t_\t_\t_\t_\tEntity=(ORG
3\tחיפה\t_\t_\t_\t_\t_\t_\t_\tEntity=(GPE)ORG)
"""
CONTENTS = {"nob": NORNE, "kor": KLUE, "heb": HEBREW}
CONVERTED = {
    "nob": """# text = Universitetet i Oslo vant.
1\tUniversitetet\tB-ORG
2\ti\tI-ORG
3\tOslo\tI-ORG
4\tvant\tO
5\t.\tO

1\tRing\tO
2\tIda\tB-PER

""",
    "kor": """# text = 서울의 3일
1\t서울\tB-LOC
2\t의\tO
3\t3일\tO

""",
    "heb": """# text = לאוניברסיטת חיפה
1\tלאוניברסיטת\tB-ORG
2\tחיפה\tI-ORG

""",
}


@pytest.fixture
def convert(monkeypatch, tmp_path):
    """`convert(*names)`: converts sets from the clones in `tmp_path`, and returns the files by their names."""
    from entity_sets import main

    def run(*names):
        output = tmp_path / "out"
        arguments = [str(tmp_path), "--output", str(output), "--sets", *names]
        monkeypatch.setattr("sys.argv", ["entity_sets.py", *arguments])
        main()
        return {path.stem: path.read_text("utf-8") for path in output.iterdir()}

    return run


@pytest.fixture
def clone(monkeypatch, tmp_path):
    """`clone(name, content)`: makes the repository of a set with one file, and returns its folder."""
    from entity_sets import SETS

    def make(name, content):
        source = SETS[name]
        folder = tmp_path / source.repository.replace("/", "+")
        path = folder / source.paths[0]
        path.parent.mkdir(parents=True)
        path.write_text(content, "utf-8")
        head = commit_all(folder)
        path.unlink()  # only what is committed counts
        monkeypatch.setitem(SETS, name, source._replace(commit=head))
        return folder

    return make


def test_sets_are_converted_from_clones(clone, convert, tmp_path):
    for name, content in CONTENTS.items():
        folder = clone(name, content)
    moved = folder.rename(tmp_path / "moved")
    subprocess.run(["git", "clone", "-q", "--bare", moved, folder], check=True)
    assert convert(*CONTENTS) == CONVERTED


def test_a_missing_clone_or_commit_is_one_line(clone, convert, tmp_path):
    from entity_sets import SETS

    folder = tmp_path / "KLUE-benchmark+KLUE"
    with pytest.raises(
        SystemExit, match=f"^kor: expected commit 3efd.* in {re.escape(str(folder))}, got .+$"
    ):
        convert("kor")
    clone("nob", NORNE)
    SETS["nob"] = SETS["nob"]._replace(commit="bd311de55b5a")
    with pytest.raises(SystemExit, match=r"^nob: expected commit bd311de55b5a .*norne, got .+$"):
        convert("nob")


def test_the_outermost_of_nested_names_counts():
    from entity_sets import Source, sentences_in, tags_of

    content = "Dr.\tB-TITLE\tO\nAnn\tI-TITLE\tB-PER\nof\tB-ORG\tO\nRoma\tI-ORG\tB-GPE\n"
    (sentence,) = sentences_in(content, Source("", "", [], tags=[1, 2]))
    assert tags_of(sentence) == ["O", "B-PER", "B-ORG", "I-ORG"]


def test_a_word_has_the_tag_of_the_name_that_covers_most_of_it():
    from entity_sets import Chunk, Sentence, tags_of

    entities = [Chunk(0, 3, "PER"), Chunk(3, 8, "LOC")]
    assert tags_of(Sentence("ab", entities, offsets=[(0, 5), (5, 9)])) == ["B-PER", "B-LOC"]


def test_larger_sets_are_sampled(monkeypatch):
    from entity_sets import Sentence, chosen

    monkeypatch.setattr("entity_sets.MAX_SENTENCES", 3)
    sentences = [Sentence([str(i % 6)], []) for i in range(9)]
    first, second = chosen(sentences), chosen(sentences)
    assert first == second and first == sorted(first) and len(set(map(str, first))) == 3
