"""`align-words`: what it writes, and where it finds an aligner."""

import tarfile
from functools import partial

import pytest

from allennlp_nef.cli import align_words
from allennlp_nef.errors import DataFormatError, UserError
from allennlp_nef.qe.aligner import learn_aligner, load_aligner, save_aligner
from tests.cli.commands import output
from tests.data.reader_files import line_of

WORDS = {"the": "das", "red": "rote", "house": "Haus", "cup": "Tasse", "sees": "sieht"}
run = partial(output, align_words)


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


def pairs_of(files):
    lines = (path.read_text(encoding="utf-8").splitlines() for path in files)
    return [(source.split(), target.split()) for source, target in zip(*lines)]


@pytest.fixture
def aligner(files, tmp_path):
    """The file of an aligner that has learned from the files."""
    path = tmp_path / "run" / "aligner.json.gz"
    path.parent.mkdir()
    pairs = ((*pair, [(i, i) for i in range(len(pair[0]))]) for pair in pairs_of(files))
    save_aligner(learn_aligner(pairs), str(path))
    return path


def test_links_are_those_of_the_aligner_in_a_file_an_archive_or_a_folder(files, aligner, tmp_path):
    with tarfile.open(tmp_path / "model.tar.gz", "w:gz") as archive:
        archive.add(aligner, "aligner.json.gz")
    expected = [load_aligner(str(aligner)).align(*pair) for pair in pairs_of(files)]
    new = tmp_path / "new" / "links"
    for path in (aligner, tmp_path / "model.tar.gz", aligner.parent):
        text = run(*files, "--output", new, "--aligner", path)
        assert text == f"{sum(map(len, expected))} links: {new}\n"
        lines = new.read_text().splitlines()
        assert lines == [" ".join(f"{i}-{j}" for i, j in links) for links in expected]


def test_archive_without_aligner_is_an_error(files, tmp_path):
    with tarfile.open(tmp_path / "model.tar.gz", "w:gz") as archive:
        archive.add(files[0], "config.json")
    with pytest.raises(UserError):
        run(*files, "--output", tmp_path / "x", "--aligner", tmp_path / "model.tar.gz")
    with pytest.raises(DataFormatError):
        run(*files, "--output", tmp_path / "x", "--aligner", files[0])
    assert not (tmp_path / "x").exists()


def test_inputs_are_not_replaced(files, aligner, tmp_path):
    (tmp_path / "link").symlink_to(files[1])
    for path in (*files, aligner, tmp_path / "link"):
        before = path.read_bytes()
        for given in (aligner, aligner.parent):
            with pytest.raises(UserError):
                run(*files, "--output", path, "--aligner", given)
        assert path.read_bytes() == before


@pytest.mark.parametrize(
    "source, target, name, line",
    [
        ("a\nb\n", "A\n", "a.mt", 2),
        ("a\n\n", "A\nB\n", "a.src", 2),
        ("a\n", "<EOS>\n", "a.mt", 1),
        ("", "", "a.src", 1),
    ],
)
def test_bad_text_is_an_error_with_its_line(files, aligner, source, target, name, line, tmp_path):
    for path, text in zip(files, (source, target)):
        path.write_text(text)
    with pytest.raises(DataFormatError) as info:
        run(*files, "--output", tmp_path / "links", "--aligner", aligner)
    assert line_of(str(info.value), tmp_path / name) == line
