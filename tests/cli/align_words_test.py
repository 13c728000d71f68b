"""`align-words`, with eflomal where it is installed, and with a module in its place."""

import argparse
import sys

import pytest

from allennlp_nef.cli import align_words
from allennlp_nef.cli.terminal import error_message
from allennlp_nef.data.aligners import load_aligner
from allennlp_nef.errors import UserError

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
