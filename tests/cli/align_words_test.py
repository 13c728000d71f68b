"""`align-words`, with eflomal where it is installed, and with a module in its place."""

import argparse
import json
import random
import sys

import pytest

from allennlp_nef.cli import align_words
from allennlp_nef.cli.align_words import symmetrize
from allennlp_nef.cli.terminal import error_message
from allennlp_nef.data.aligners import load_aligner
from allennlp_nef.errors import UserError
from tests.small_transformer import save_bert

WORDS = {"the": "das", "red": "rote", "house": "Haus", "cup": "Tasse", "sees": "sieht"}
FAKE = """
class Aligner:
    def align(self, source, target, links_filename_fwd, links_filename_rev, priors_input=None):
        assert len(source) == len(target)
        with open("priors.txt", "w") as file:
            file.writelines(priors_input or ())
        {action}
        for path, shift in ((links_filename_fwd, 0), (links_filename_rev, 1)):
            with open(path, "w") as file:
                for line in target:
                    n = len(line.split())
                    file.write(" ".join(f"{{i}}-{{min(i + shift * (i == 0), n - 1)}}" for i in range(n)) + "\\n")

def calculate_priors(source, target, forward, reverse):
    return list(source), list(forward)

def write_priors(file, source, forward):
    for line, links in zip(source, forward):
        file.write(f"LEX\\t{{line.split()[0]}}\\tdas\\t{{len(links.split())}}\\n")
"""


@pytest.fixture
def eflomal(tmp_path, monkeypatch):
    """`eflomal(action="pass")`: a module in place of the package; it runs the action before it aligns."""
    monkeypatch.chdir(tmp_path)

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


@pytest.fixture
def run(capsys):
    """`run(*arguments)`: the status of the command, and what it prints."""

    def run(*arguments):
        parser = argparse.ArgumentParser()
        align_words.add_arguments(parser)
        args = parser.parse_args([str(argument) for argument in arguments])
        try:
            lines = list(align_words.run(args))
            return 0, capsys.readouterr().out + "\n".join(lines)
        except (UserError, OSError) as error:
            return 2, f"error: {error_message(error)}"

    return run


def test_alignments_priors_and_aligner_are_written(run, files, eflomal, tmp_path):
    eflomal()
    outputs = {name: tmp_path / name for name in ("output", "save-priors", "learn-aligner")}
    options = [part for name, path in outputs.items() for part in (f"--{name}", path)]
    status, out = run(*files, *options)
    assert status == 0, out
    lines = out.splitlines()
    assert lines[0] == "Aligning 30 sentence pairs with eflomal, in both directions"
    assert lines[1].endswith(f" s: {outputs['output']}")
    assert lines[2:] == [
        f"Priors: {outputs['save-priors']}",
        f"Aligner: {outputs['learn-aligner']}",
    ]
    # 0-0 is only forward and 0-1 only reverse: both touch 1-1, and have a word without a link.
    assert outputs["output"].read_text().splitlines()[1] == "0-0 0-1 1-1 2-2 3-3"
    assert outputs["save-priors"].read_text().startswith("LEX\tthe\tdas\t3\n")
    assert load_aligner(str(outputs["learn-aligner"])).lexicon.source["house"] > 0


def test_symmetrization_is_the_one_that_was_asked_for(run, files, eflomal):
    eflomal()
    assert run(*files, "--output", "links", "--symmetrization", "intersection")[0] == 0
    with open("links") as file:
        assert file.readline() == "1-1 2-2\n"


def test_aligner_aligns_without_eflomal(run, files, eflomal, tmp_path, capsys):
    eflomal()
    aligner, links = tmp_path / "aligner.json.gz", tmp_path / "links"
    assert run(*files, "--output", links, "--learn-aligner", aligner)[0] == 0
    sys.modules["eflomal"] = None  # the fixture removes it
    again = tmp_path / "new" / "links"
    status, out = run(*files, "--output", again, "--aligner", aligner)
    assert (status, out.splitlines()[0]) == (0, f"Aligning 30 sentence pairs with {aligner}")
    assert again.read_text().splitlines()[0] == "0-0 0-1 1-1 2-2"
    capsys.readouterr()
    status, err = run(*files, "--output", links)
    assert (status, capsys.readouterr().out) == (2, "")
    assert "align-words without --aligner: expected the extra align, which is not installed" in err


def test_encoder_aligns_without_eflomal_and_teaches_an_aligner(run, files, tmp_path):
    save_bert(tmp_path / "bert")
    options = json.dumps({"model_name": str(tmp_path / "bert"), "layer": 1})
    links, aligner = tmp_path / "links", tmp_path / "aligner.json.gz"
    status, out = run(
        files[0], files[0], "--output", links, "--aligner", options, "--learn-aligner", aligner
    )
    assert status == 0 and out.startswith(f"Aligning 30 sentence pairs with {tmp_path}/bert")
    sentences = files[0].read_text().splitlines()
    for sentence, line in zip(sentences, links.read_text().splitlines()):
        words = sentence.split()
        assert {f"{i}-{i}" for i, word in enumerate(words) if words.count(word) == 1} <= set(
            line.split()
        )
    assert load_aligner(str(aligner)).lexicon.links["house"]["house"] > 0


def test_priors_reach_eflomal(run, files, eflomal, tmp_path):
    eflomal()
    lines = "".join(f"LEX\t{word}\t{other}\t2\n" for word, other in WORDS.items()) + "HMMF\t-1\t3\n"
    priors = tmp_path / "priors"
    priors.write_text(lines)
    assert run(*files, "--output", tmp_path / "links", "--priors", priors)[0] == 0
    assert (tmp_path / "priors.txt").read_text() == lines


@pytest.mark.parametrize("option", ["--priors", "--aligner"])
def test_other_languages_are_refused(run, files, eflomal, tmp_path, option):
    """Here the two sides are swapped."""
    eflomal()
    known = tmp_path / "known"
    if option == "--priors":
        known.write_text("LEX\tder\tthe\t1\nLEX\thouse\tHaus\t1\n".replace("house", "maison"))
    else:
        assert run(*files, "--output", tmp_path / "x", "--learn-aligner", known)[0] == 0
    status, err = run(*files[::-1], "--output", tmp_path / "links", option, known)
    assert status == 2
    assert err.startswith(
        f"error: {known}: expected the languages of {files[1]} and {files[0]}, in"
    )
    assert not (tmp_path / "links").exists()


@pytest.mark.parametrize(
    "action, message",
    [
        (
            "raise OSError('no space left')",
            "eflomal: expected alignments, got OSError: no space left",
        ),
        ("target = target[:-1]", "eflomal: expected a line for each of 30 sentence pairs, got 29:"),
        ("target = ['a ' * 9] * 30", "eflomal: expected source indices from 0 to 2, got 3 in 3-3"),
    ],
)
def test_failure_of_eflomal_is_reported(run, files, eflomal, tmp_path, action, message):
    eflomal(action)
    (tmp_path / "links").write_text("before")
    status, err = run(*files, "--output", tmp_path / "links")
    assert status == 2
    assert err.startswith(f"error: {message}")
    assert (tmp_path / "links").read_text() == "before"


BAD_TEXT = [
    ("a\nb\n", "A\n", "mt:2: expected a line for each of the 2 lines of"),
    ("a\n\n", "A\nB\n", "src:2: expected a sentence of words (eflomal has at most 1023), got 0"),
    ("a\n", "A " * 1024, "mt:1: expected a sentence of words (eflomal has at most 1023), got 1024"),
    ("", "", "src:1: expected at least one line, got an empty file"),
]


@pytest.mark.parametrize("source, target, message", BAD_TEXT)
def test_bad_text_is_an_error_with_its_line(run, files, source, target, message, tmp_path):
    for path, text in zip(files, (source, target)):
        path.write_text(text)
    status, err = run(*files, "--output", tmp_path / "links")
    assert status == 2
    assert f"a.{message}" in err


@pytest.mark.parametrize("line", ["LEX\ta\tb", "LEX\ta\tb\tx", "HMMF\tx\t1"])
def test_bad_priors_are_an_error_with_their_line(run, files, line, tmp_path):
    (tmp_path / "priors").write_text(f"LEX\ta\tb\t1\n{line}\n")
    options = ("--priors", tmp_path / "priors")
    status, err = run(*files, "--output", tmp_path / "links", *options)
    assert status == 2
    assert "priors:2: expected a line of priors, such as 'LEX'" in err


@pytest.mark.parametrize(
    "options, message",
    [
        ("--output a.mt", "--output: expected a file of its own, got 'a.mt' again"),
        ("--output x --save-priors ./x", "--save-priors: expected a file of its own"),
        ("--output .", "--output: expected the name of a file, got '.'"),
        ("--output x --aligner y --priors z", "--priors: expected no --aligner with it"),
        ("--output x --aligner {y", "--aligner: expected a file or a JSON object, got"),
        ('--output x --aligner {"layer":1}', "--aligner: model_name: expected a name or a folder"),
        ("--output x --aligner y", "y: expected the file of an aligner, got no such file"),
    ],
)
def test_mistakes_in_options_are_found_first(run, files, options, message, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    status, err = run("a.src", "a.mt", *options.split())
    assert status == 2
    assert err.startswith(f"error: {message}")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.mt", "a.src"]


def test_too_few_sentences_to_learn_from_are_refused_first(run, files, eflomal, tmp_path):
    eflomal("raise AssertionError")
    for path in files:
        path.write_text("a b\n" * 19)
    status, err = run(*files, "--output", tmp_path / "x", "--learn-aligner", tmp_path / "y")
    assert status == 2
    assert "a.src: expected at least 20 sentences to learn an aligner from, got 19" in err


def test_eflomal_itself_aligns(run, root, tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "eflomal", raising=False)  # one of the tests above
    pytest.importorskip("eflomal")
    prefix = root / "fixtures" / "qe" / "dev"
    texts = [f"{prefix}.src", f"{prefix}.mt"]
    links, priors = tmp_path / "links", tmp_path / "priors"
    status, out = run(*texts, "--output", links, "--save-priors", priors)
    assert status == 0, out
    gold, found = (
        {(n, pair) for n, line in enumerate(path.read_text().splitlines()) for pair in line.split()}
        for path in (root / "fixtures" / "qe" / "dev.src-mt.alignments", links)
    )
    assert 2 * len(gold & found) / (len(gold) + len(found)) > 0.7
    status, out = run(*texts, "--output", links, "--priors", priors)
    assert status == 0, out


#     0 1 2 3 4        F forward only, R reverse only, B both
#  0  B . . . .
#  1  . B F . .
#  2  . R . . .
#  3  . . . . F
#  4  . . . R .
#  5  R . . . .
FORWARD = [(0, 0), (1, 1), (1, 2), (3, 4)]
REVERSE = [(0, 0), (1, 1), (2, 1), (4, 3), (5, 0)]


@pytest.mark.parametrize(
    "method, expected",
    [
        ("forward", FORWARD),
        ("reverse", REVERSE),
        ("intersection", [(0, 0), (1, 1)]),
        ("union", sorted({*FORWARD, *REVERSE})),
        # (1, 2) and (2, 1) touch (1, 1), and a word of each has no link. The others touch nothing.
        ("grow-diag", [(0, 0), (1, 1), (1, 2), (2, 1)]),
        # (3, 4) and (4, 3): neither word has a link. (5, 0): target word 0 has one.
        ("grow-diag-final-and", [(0, 0), (1, 1), (1, 2), (2, 1), (3, 4), (4, 3)]),
    ],
)
def test_methods_give_what_a_person_finds(method, expected):
    assert symmetrize(FORWARD, REVERSE, method) == expected


def by_the_book(forward, reverse):
    """GROW-DIAG-FINAL-AND as Koehn et al. state it: whole passes over the matrix until nothing is added."""
    union, links = set(forward) | set(reverse), set(forward) & set(reverse)

    def free(side, index):
        return all(link[side] != index for link in links)

    added = True
    while added:
        added = False
        for link in sorted(links):
            for i in (link[0] - 1, link[0], link[0] + 1):
                for j in (link[1] - 1, link[1], link[1] + 1):
                    if (i, j) in union - links and (free(0, i) or free(1, j)):
                        links.add((i, j))
                        added = True
    for side in (forward, reverse):
        for i, j in sorted(side):
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
