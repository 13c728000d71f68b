"""`align-words` with a learned aligner, and with eflomal or a module in its place."""

import random
import sys
import tarfile
from functools import partial
from itertools import product

import pytest

from allennlp_nef.cli import align_words
from allennlp_nef.errors import DataFormatError, UserError
from allennlp_nef.qe.aligner import load_aligner
from allennlp_nef.qe.eflomal import symmetrize
from tests.cli.commands import output
from tests.data.reader_files import line_of
from tests.qe.qe_files import FIXTURES

WORDS = {"the": "das", "red": "rote", "house": "Haus", "cup": "Tasse", "sees": "sieht"}
FAKE = """
class Aligner:
    def align(self, source, target, links_filename_fwd, links_filename_rev):
        assert len(source) == len(target)
        {action}
        for path, shift in ((links_filename_fwd, 0), (links_filename_rev, 1)):
            with open(path, "w") as file:
                for line in target:
                    n = len(line.split())
                    file.write(" ".join(f"{{i}}-{{min(i + shift * (i == 0), n - 1)}}" for i in range(n)) + "\\n")
"""


@pytest.fixture
def eflomal(tmp_path, monkeypatch):
    """`eflomal(action="pass")`: a module in place of the package; it runs the action before it aligns."""

    def make(action="pass"):
        (tmp_path / "lib").mkdir()
        (tmp_path / "lib" / "eflomal.py").write_text(FAKE.format(action=action))
        monkeypatch.syspath_prepend(str(tmp_path / "lib"))
        monkeypatch.delitem(sys.modules, "eflomal", raising=False)

    yield make
    sys.modules.pop("eflomal", None)


@pytest.fixture
def files(tmp_path):
    """Sentences of three to five words, and their translations word by word."""
    source, target = [], []
    for number in range(30):
        words = [list(WORDS)[(number * k) % 5] for k in (1, 2, 3, 4, 6)][: 3 + number % 3]
        source.append(" ".join(words))
        target.append(" ".join(WORDS[word] for word in words))
    for name, lines in (("a.src", source), ("a.mt", target)):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [tmp_path / "a.src", tmp_path / "a.mt"]


run = partial(output, align_words)


def test_eflomal_aligns_and_teaches_an_aligner(files, eflomal, tmp_path):
    eflomal()
    links, aligner = tmp_path / "links", tmp_path / "aligner.json.gz"
    line = run(*files, "--output", links, "--learn-aligner", aligner)
    assert line.endswith(f" links: {links}\n")
    # 0-0 is only forward and 0-1 only reverse: both touch 1-1, and have a word without a link.
    assert links.read_text().splitlines()[1] == "0-0 0-1 1-1 2-2 3-3"
    assert load_aligner(str(aligner)).counts["house", ""] > 0


def test_aligner_aligns_without_eflomal(files, eflomal, tmp_path, monkeypatch):
    eflomal()
    aligner = tmp_path / "aligner.json.gz"
    run(*files, "--output", tmp_path / "links", "--learn-aligner", aligner)
    monkeypatch.setitem(sys.modules, "eflomal", None)
    with tarfile.open(tmp_path / "model.tar.gz", "w:gz") as archive:
        archive.add(aligner, "aligner.json.gz")
    expected = [
        load_aligner(str(aligner)).align(*pair)
        for pair in zip(
            *([line.split() for line in path.read_text().splitlines()] for path in files)
        )
    ]
    for path in (aligner, tmp_path / "model.tar.gz"):
        run(*files, "--output", tmp_path / "new" / "links", "--aligner", path)
        lines = (tmp_path / "new" / "links").read_text().splitlines()
        assert lines == [" ".join(f"{i}-{j}" for i, j in links) for links in expected]
    with pytest.raises(UserError):
        run(*files, "--output", tmp_path / "links")


def test_archive_without_aligner_is_an_error(files, tmp_path):
    with tarfile.open(tmp_path / "model.tar.gz", "w:gz") as archive:
        archive.add(files[0], "config.json")
    with pytest.raises(UserError):
        run(*files, "--output", tmp_path / "x", "--aligner", tmp_path / "model.tar.gz")
    with pytest.raises(DataFormatError):
        run(*files, "--output", tmp_path / "x", "--aligner", files[0])
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("action", ["target = target[:-1]", "target = ['a ' * 9] * 30", "return"])
def test_failure_of_eflomal_is_reported(files, eflomal, tmp_path, action):
    eflomal(action)
    (tmp_path / "links").write_text("before")
    with pytest.raises(UserError):
        run(*files, "--output", tmp_path / "links")
    assert (tmp_path / "links").read_text() == "before"


@pytest.mark.parametrize(
    "source, target, name, line",
    [
        ("a\nb\n", "A\n", "a.mt", 2),
        ("a\n\n", "A\nB\n", "a.src", 2),
        ("a\n", "A " * 1024, "a.mt", 1),
        ("a\n", "<EOS>\n", "a.mt", 1),
        ("", "", "a.src", 1),
    ],
)
def test_bad_text_is_an_error_with_its_line(files, source, target, name, line, tmp_path):
    for path, text in zip(files, (source, target)):
        path.write_text(text)
    with pytest.raises(DataFormatError) as info:
        run(*files, "--output", tmp_path / "links")
    assert line_of(str(info.value), tmp_path / name) == line


def test_eflomal_itself_aligns(tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "eflomal", raising=False)
    pytest.importorskip("eflomal")
    links = tmp_path / "links"
    run(FIXTURES / "dev.src", FIXTURES / "dev.mt", "--output", links)
    gold, found = (
        {(n, pair) for n, line in enumerate(path.read_text().splitlines()) for pair in line.split()}
        for path in (FIXTURES / "dev.src-mt.alignments", links)
    )
    assert 2 * len(gold & found) / (len(gold) + len(found)) > 0.7


def test_symmetrization_is_what_a_person_finds():
    #     0 1 2 3 4        F forward only, R reverse only, B both
    #  0  B . . . .
    #  1  . B F . .
    #  2  . R . . .
    #  3  . . . . F
    #  4  . . . R .
    #  5  R . . . .
    forward = [(0, 0), (1, 1), (1, 2), (3, 4)]
    reverse = [(0, 0), (1, 1), (2, 1), (4, 3), (5, 0)]
    # (1, 2) and (2, 1) touch (1, 1), and a word of each has no link. (3, 4) and (4, 3): neither word has a link.
    # (5, 0): target word 0 has one.
    assert symmetrize(forward, reverse) == [(0, 0), (1, 1), (1, 2), (2, 1), (3, 4), (4, 3)]


def by_the_book(forward, reverse):
    """GROW-DIAG-FINAL-AND as Koehn et al. state it: whole passes over the matrix until nothing is added."""
    union, links = {*forward, *reverse}, {*forward} & {*reverse}

    def free(side, index):
        return all(link[side] != index for link in links)

    added = True
    while added:
        added = False
        for row, column in sorted(links):
            for i, j in product((row - 1, row, row + 1), (column - 1, column, column + 1)):
                if (i, j) in union - links and (free(0, i) or free(1, j)):
                    links.add((i, j))
                    added = True
    for i, j in (*sorted(forward), *sorted(reverse)):
        if free(0, i) and free(1, j):
            links.add((i, j))
    return links


def test_random_alignments_are_close_to_those_of_the_book():
    """The order in which adjacent links are added is free, and may decide between two of them."""
    rng = random.Random(0)
    same = total = 0
    for _ in range(200):
        forward = [(rng.randrange(8), j) for j in range(8)]
        reverse = [
            pair if rng.random() < 0.5 else (i, rng.randrange(8)) for i, pair in enumerate(forward)
        ]
        found = set(symmetrize(forward, reverse))
        expected = by_the_book(forward, reverse)
        assert set(forward) & set(reverse) <= found <= set(forward) | set(reverse)
        same, total = same + len(found & expected), total + len(found | expected)
    assert same / total > 0.95
