"""Deferred imports: what the start of AllenNLP does not import, and that it works when it is used."""

import os
import subprocess
import sys

import pytest
from allennlp_nef._deferred import deferring

USE = """
import importlib
import sys
import allennlp_nef.components
import torch
from allennlp.data import Token
from allennlp.data.fields import TextField
from allennlp_nef._stack import import_plugins

listings = []
importlib.invalidate_caches = lambda: listings.append(1)
import_plugins()
heavy = ("nltk", "pandas", "scipy.stats", "sklearn", "spacy", "torch._dynamo", "torchvision")
TextField([Token("a")])
print("imported", [name for name in heavy if name in sys.modules])
print("plugin", [name for name in sys.modules if name.startswith("allennlp_models")])
print("listings", len(listings))

import spacy
from allennlp.common.util import sanitize
from allennlp.data.image_loader import TorchImageLoader
from allennlp.data.token_indexers import SpacyTokenIndexer
from allennlp.data.tokenizers import SpacyTokenizer
from allennlp.modules.vision import region_detector
from allennlp.training.metrics import Auc, SpearmanCorrelation
from transformers.data.metrics import f1_score

spacy.blank("en").to_disk("english")
print(SpacyTokenizer(language="english").tokenize("It works."))
(word,) = SpacyTokenizer(language="english", keep_spacy_tokens=True, split_on_spaces=True).tokenize("works.")
print(isinstance(word, spacy.tokens.Token), TextField([word]).tokens, sanitize(word))
print(len(SpacyTokenIndexer().tokens_to_indices([word], None)["tokens"]))

scores, gold = torch.tensor([0.9, 0.2, 0.6]), torch.tensor([1, 0, 0])
for metric in (Auc(), SpearmanCorrelation()):
    metric(scores, gold)
    print(round(float(metric.get_metric()), 3))
print(f1_score(gold, gold))
TorchImageLoader(image_backend="PIL")
print(region_detector.box_ops.clip_boxes_to_image(torch.tensor([[0.0, 0, 9, 9]]), (4, 5)).tolist())
print("imported", [name for name in heavy if name in sys.modules and "Deferred" not in repr(type(sys.modules[name]))])
"""


@pytest.mark.skipif(sys.version_info < (3, 11), reason="imports are deferred on Python 3.11")
def test_the_start_defers_imports_and_leaves_out_parts_of_a_plugin_without_their_packages(
    root, tmp_path
):
    plugin = tmp_path / "allennlp_models"
    (plugin / "rc" / "tools").mkdir(parents=True)
    (plugin / "__init__.py").touch()
    (plugin / "trees.py").write_text("from nltk import Tree\n")
    (plugin / "generation.py").write_text("import a_missing_package\n")
    (plugin / "rc" / "__init__.py").touch()
    (plugin / "rc" / "tools" / "__init__.py").write_text("import nltk\n")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", USE],
        cwd=str(tmp_path),
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert "missing" not in done.stderr
    assert done.stdout.splitlines() == [
        "imported []",
        "plugin ['allennlp_models', 'allennlp_models.rc', 'allennlp_models.trees']",
        "listings 1",
        "[It, works, .]",
        "True [works.] works.",
        "1",
        "1.0",
        "0.866",
        "1.0",
        "[[0.0, 0.0, 5.0, 4.0]]",
        "imported ['pandas', 'scipy.stats', 'sklearn', 'spacy', 'torch._dynamo', 'torchvision']",
    ]


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with a module, which tells when it is imported."""
    folder = tmp_path / "slow_package"
    folder.mkdir()
    (folder / "__init__.py").write_text("__version__ = '1'\n")
    (folder / "words.py").write_text(
        "print('imported')\nclass Word(str):\n    class Part: pass\ndef double(x): return 2 * x\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "slow_package"
    for name in [name for name in sys.modules if name.startswith("slow_package")]:
        del sys.modules[name]


def test_names_of_a_deferred_module_import_it_when_they_are_used(package, capsys):
    with deferring([package]):
        import slow_package.words as words
        from slow_package.words import Word, double

        part = Word.Part
        assert not isinstance("a", Word)
    assert not any(name.startswith(package) for name in sys.modules)
    assert not capsys.readouterr().out

    assert double(2) == 4
    assert capsys.readouterr().out == "imported\n"
    real = sys.modules["slow_package.words"]
    assert words.Word is real.Word
    assert isinstance(real.Word("a"), Word)
    assert isinstance(part(), real.Word.Part)
    assert issubclass(type("Noun", real.Word.__mro__[:1], {}), real.Word)


def test_what_is_used_at_once_is_imported_at_once(package, capsys):
    with deferring([package]):
        from slow_package.words import Word

        class Noun(Word):
            pass

        import slow_package

        assert sys.modules[package] is slow_package
    assert Noun.__mro__[1] is sys.modules["slow_package.words"].Word
    assert capsys.readouterr().out == "imported\n"


def test_a_module_of_a_package_that_is_not_deferred(package, capsys):
    import slow_package

    with deferring(["slow_package.words"]):
        from slow_package import words
    assert not hasattr(slow_package, "words")
    assert words.double(1) == 2
    assert slow_package.words.double is words.double
    assert capsys.readouterr().out == "imported\n"


def test_missing_and_imported_packages_are_not_deferred(package):
    import slow_package.words

    with deferring([package, "missing_package"]):
        import slow_package as again

        with pytest.raises(ModuleNotFoundError, match="missing_package"):
            import missing_package  # noqa: F401
    assert again is slow_package
