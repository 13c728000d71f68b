"""What AllenNLP's modules see of packages that have changed, or that are missing or slow to import."""

import copy
import os
import subprocess
import sys
from typing import Any, get_args

import pytest
import torch
from allennlp.common import Lazy, Params, Registrable
from allennlp.common.checks import ConfigurationError
from allennlp.common.from_params import FromParams
from allennlp.training.optimizers import Optimizer

from allennlp_nef import compat
from tests.small_transformer import SAVE

START = """
import importlib, sys
import allennlp_nef
from allennlp.common.plugins import import_plugins
from allennlp.data import Token
from allennlp.data.fields import TextField

listings = []
importlib.invalidate_caches = lambda: listings.append(1)
import_plugins()
TextField([Token("a")])
heavy = ("nltk", "pandas", "peft", "scipy", "sklearn", "spacy", "torch._dynamo", "transformers.utils")
print([name for name in heavy if name in sys.modules])
print([name for name in sys.modules if name.startswith("allennlp_models")])
print(len(listings))
"""
USE = """
import allennlp_nef, spacy, torch
from allennlp.common.util import sanitize
from allennlp.data.fields import TextField
from allennlp.data.token_indexers import SpacyTokenIndexer
from allennlp.data.tokenizers import SpacyTokenizer
from allennlp.training.metrics import Auc, SpearmanCorrelation

spacy.blank("en").to_disk("english")
print(SpacyTokenizer(language="english").tokenize("It works."))
(word,) = SpacyTokenizer(language="english", keep_spacy_tokens=True, split_on_spaces=True).tokenize("works.")
print(isinstance(word, spacy.tokens.Token), TextField([word]).tokens, sanitize(word))
print(len(SpacyTokenIndexer().tokens_to_indices([word], None)["tokens"]))
for metric in (Auc(), SpearmanCorrelation()):
    metric(torch.tensor([0.9, 0.2, 0.6]), torch.tensor([1, 0, 0]))
    print(round(float(metric.get_metric()), 3))
"""


def output_of(code, folder, root):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=str(folder),
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return done.stdout.splitlines()


def test_allennlp_and_its_plugins_start_without_heavy_packages(root, tmp_path):
    plugin = tmp_path / "allennlp_models"
    (plugin / "rc" / "tools").mkdir(parents=True)
    (plugin / "__init__.py").touch()
    (plugin / "trees.py").write_text("from nltk import Tree\nfrom rouge import Rouge\n")
    (plugin / "rc" / "__init__.py").touch()
    (plugin / "rc" / "tools" / "__init__.py").write_text("raise SystemExit('this is a script')\n")
    assert output_of(START, tmp_path, root) == [
        "[]",
        "['allennlp_models', 'allennlp_models.rc', 'allennlp_models.trees']",
        "1",
    ]


def test_components_that_use_heavy_packages_work(root, tmp_path):
    expected = ["[It, works, .]", "True [works.] works.", "1", "1.0", "0.866"]
    assert output_of(USE, tmp_path, root) == expected


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with a module that tells when it is imported, and one that is not installed."""
    folder = tmp_path / "slow_package"
    folder.mkdir()
    (folder / "__init__.py").write_text("__version__ = '1'\n")
    (folder / "words.py").write_text(
        "print('imported')\nclass Word(str):\n    class Part: pass\ndef double(x): return 2 * x\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    names = {"slow_package": "slow-package", "missing_package": "missing-package"}
    monkeypatch.setattr(compat, "_OPTIONAL", names)
    yield
    for name in [name for name in sys.modules if name.startswith("slow_package")]:
        del sys.modules[name]


def run(code):
    """The names that a module of AllenNLP has after this code."""
    names: dict[str, Any] = {"__name__": "module", "__builtins__": compat._BUILTINS}
    exec(code, names)
    return names


@pytest.mark.usefixtures("package")
class TestPlaceholders:
    def test_names_import_their_module_when_they_are_used(self, capsys):
        names = run(
            "import slow_package.words\nfrom slow_package.words import Word, double\n"
            "part = Word.Part\nassert not isinstance('a', Word)\n"
        )
        assert not any(name.startswith("slow_package") for name in sys.modules)
        assert names["double"](2) == 4
        assert capsys.readouterr().out == "imported\n"
        real = sys.modules["slow_package.words"]
        assert isinstance(real.Word("a"), names["Word"])
        assert isinstance(names["part"](), real.Word.Part)
        assert names["slow_package"].words.double(3) == 6
        assert run("from slow_package.words import double")["double"] is real.double

    def test_they_stand_in_annotations(self):
        names = run(
            "from missing_package import Word\nfrom typing import Dict, Optional\n"
            "kinds: Dict[str, Word] = {}\ndef f(word: Optional[Word], other: 'Word | None') -> Word: ...\n"
        )
        assert get_args(names["f"].__annotations__["word"]) == (names["Word"], type(None))

    def test_subclass_has_the_class_itself_as_its_base(self):
        names = run("from slow_package.words import Word\nclass Noun(Word): pass\n")
        assert names["Noun"].__mro__[1] is sys.modules["slow_package.words"].Word

    @pytest.mark.parametrize(
        "code",
        [
            "import missing_package\nmissing_package.words.Word('a')",
            "from missing_package.words import Word\nWord('a')",
            "from missing_package.words import Word\nclass Noun(Word): pass\nNoun('a')",
        ],
    )
    def test_use_of_a_missing_package_says_how_to_install_it(self, code):
        message = "missing_package.words.Word is used here, and missing_package is not installed: "
        with pytest.raises(ModuleNotFoundError) as caught:
            run(code)
        assert str(caught.value) == message + "pip install missing-package"

    def test_error_inside_a_package_is_its_own(self, tmp_path):
        (tmp_path / "slow_package" / "broken.py").write_text("import another_missing_package\n")
        with pytest.raises(ModuleNotFoundError, match="No module named 'another_missing_package'"):
            run("from slow_package.broken import name\nname()")

    def test_other_modules_see_the_package_itself(self):
        run("import slow_package")
        import slow_package

        assert slow_package.__version__ == "1"


class Base(Registrable):
    pass


@Base.register("part")
class Part(Base):
    def __init__(self, size: int | float = 1) -> None:
        self.size = size


class Whole(FromParams):
    def __init__(
        self,
        part: Part | None = None,
        lazy: Lazy[Base] | None = None,
        parts: list[Base | str] | None = None,
        named: dict[str, Base] | None = None,
        size: int | str = 0,
    ) -> None:
        self.values = part, lazy and lazy.construct(), parts, named, size


def test_types_with_bars_are_built_from_configs():
    def part():
        return {"type": "part", "size": 2.5}

    params = {
        "part": {"size": 1},
        "lazy": part(),
        "parts": [part()],
        "named": {"a": part()},
        "size": "all",
    }
    one, lazy, (first,), named, size = Whole.from_params(Params(params)).values
    kinds = {type(value) for value in (one, lazy, first, named["a"])}
    assert kinds == {Part} and (one.size, lazy.size, size) == (1, 2.5, "all")
    assert Whole.from_params(Params({})).values == (None, None, None, None, 0)
    with pytest.raises(ConfigurationError):
        Whole.from_params(Params({"size": [1]}))


def test_schedulers_of_allennlp_step_and_can_be_saved(tmp_path):
    from allennlp.training.learning_rate_schedulers import LearningRateScheduler

    for params in (
        {"type": "reduce_on_plateau", "patience": 0},
        {"type": "cosine", "t_initial": 9},
    ):
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1)
        scheduler = LearningRateScheduler.from_params(Params(params), optimizer=optimizer)
        optimizer.step()
        for _ in range(3):
            scheduler.step(1.0)
        (group,) = optimizer.param_groups
        assert type(group["lr"]) is float and 0 < group["lr"] < 0.1
        torch.save([scheduler.state_dict(), optimizer.state_dict()], tmp_path / "state")
        torch.load(tmp_path / "state")


def test_a_gpu_that_is_not_there_is_named():
    from allennlp.common.checks import check_for_gpu
    from allennlp.common.util import int_to_device

    assert int_to_device(-1).type == "cpu" and int_to_device(1).index == 1
    if not torch.cuda.is_available():
        with pytest.raises(ConfigurationError, match="specified a GPU but none is available"):
            check_for_gpu(0)


def test_nearest_registered_name_is_suggested():
    with pytest.raises(ConfigurationError, match="'prat' is not a registered name.*'part'"):
        Base.by_name("prat")


def test_a_validation_metric_that_the_model_does_not_give_is_named():
    from allennlp.training.metric_tracker import MetricTracker

    message = (
        "trainer.validation_metric: expected one of the metrics f1-all, loss, got 'f1-al'; did"
    )
    with pytest.raises(ConfigurationError, match=message):
        MetricTracker("+f1-al").add_metrics({"f1-all": 1.0, "loss": 2.0})


def test_a_recovery_with_another_config_names_what_has_changed(tmp_path):
    from allennlp.training.util import create_serialization_dir

    saved, given = ({"trainer": {"lr": lr, "patience": 2}} for lr in (0.1, 0.2))
    Params(saved).to_file(str(tmp_path / "config.json"))
    create_serialization_dir(Params(saved), str(tmp_path), True, False)
    given["trainer"]["num_epochs"] = given["trainer"].pop("patience")
    message = (
        "got trainer.lr 0.2 instead of 0.1, trainer.num_epochs 2 instead of missing, "
        "trainer.patience missing instead of 2"
    )
    with pytest.raises(ConfigurationError, match=f"^--recover: expected .*config.json, {message}$"):
        create_serialization_dir(Params(given), str(tmp_path), True, False)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start_method": "spam", "num_workers": 1}, "start_method: expected fork.*, got 'spam'"),
        ({"cuda_device": "no"}, r"cuda_device: expected a device of torch, got 'no' \("),
        ({"batch_size": 0}, "batch_size: expected an integer of at least 1, got 0"),
    ],
)
def test_a_data_loader_checks_its_options_before_it_reads(options, message):
    from allennlp.data import DataLoader

    params = Params({"batch_size": 2, **options}, "data_loader.")
    with pytest.raises(ConfigurationError, match=rf"^data_loader \(\w+\): {message}"):
        DataLoader.from_params(params, reader=None, data_path="none")


@pytest.mark.parametrize("kind", ["pretrained_transformer_mismatched", "word_pieces"])
def test_a_missing_transformer_is_named_with_its_place(kind):
    from allennlp.data import TokenIndexer

    params = Params({"type": kind, "model_name": "./none"}, "dataset_reader.tokens.")
    with pytest.raises(ConfigurationError, match=r"^dataset_reader.tokens \(\w+\): .*'./none'"):
        TokenIndexer.from_params(params)


class TestOptimizer:
    parameter = torch.nn.Parameter(torch.ones(2))

    def make(self, **options):
        params = Params({"type": "huggingface_adamw", "lr": 0.1, **options})
        return Optimizer.from_params(params, model_parameters=[("a", self.parameter)])

    def test_adamw_is_that_of_torch(self):
        assert isinstance(self.make(), torch.optim.AdamW)

    def test_adafactor_and_schedules_are_those_of_transformers(self):
        from allennlp.training.learning_rate_schedulers import LearningRateScheduler
        from transformers.optimization import Adafactor, get_cosine_schedule_with_warmup

        params = Params({"type": "huggingface_adafactor", "lr": 0.1, "relative_step": False})
        optimizer = Optimizer.from_params(params, model_parameters=[("a", self.parameter)])
        assert isinstance(optimizer, Adafactor)
        copied = copy.deepcopy(optimizer)
        schedule = get_cosine_schedule_with_warmup(copied, 3, 12)
        options = {"num_warmup_steps": 3, "num_training_steps": 12}
        params = Params({"type": "cosine_with_warmup", **options})
        scheduler = LearningRateScheduler.from_params(params, optimizer=optimizer)
        for _ in range(6):
            (self.parameter**2).sum().backward()
            optimizer.step()
            copied.step()
            scheduler.step()
            schedule.step()
            assert optimizer.param_groups[0]["lr"] == copied.param_groups[0]["lr"]

    def test_uncorrected_bias_is_an_error(self):
        with pytest.raises(ConfigurationError, match="correct_bias: expected true, got false"):
            self.make(correct_bias=False)


def test_push_to_hf_says_that_it_does_not_work(tmp_path):
    from allennlp.common.push_to_hf import push_to_hf

    with pytest.raises(RuntimeError, match="push-to-hf does not work.*hf upload"):
        push_to_hf("name", serialization_dir=str(tmp_path))


def test_tokenizer_and_embedder_of_allennlp_read_and_embed_words(tmp_path):
    from allennlp.data import Batch, Instance, Token, Vocabulary
    from allennlp.data.fields import TextField
    from allennlp.data.token_indexers import PretrainedTransformerMismatchedIndexer
    from allennlp.data.tokenizers import PretrainedTransformerTokenizer
    from allennlp.modules.token_embedders import PretrainedTransformerMismatchedEmbedder

    SAVE["bert"](tmp_path / "bert")
    folder = str(tmp_path / "bert")
    pieces = PretrainedTransformerTokenizer(folder).tokenize("ab c")
    assert [piece.idx for piece in pieces if piece.idx is not None][-1] == 3
    indexer = PretrainedTransformerMismatchedIndexer(folder, max_length=8)
    words = TextField([Token(word) for word in ["abc", "d", "efghij"]], {"t": indexer})
    batch = Batch([Instance({"words": words})])
    batch.index_instances(Vocabulary())
    tensors = batch.as_tensor_dict()["words"]["t"]
    embedder = PretrainedTransformerMismatchedEmbedder(folder, max_length=8, last_layer_only=False)
    assert embedder(**tensors).shape == (1, 3, 12)


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="its tokenizers has no wheel")
def test_oldest_transformers_pass_the_tests_of_the_transformer_parts(root, tmp_path):
    oldest = {text.partition(">=")[0]: text.partition(">=")[2] for text in compat.OLDEST}
    packages = [f"transformers=={oldest['transformers']}.*", "tokenizers<0.21", "huggingface_hub<1"]
    variables = {name: value for name, value in os.environ.items() if name != "PIP_CONSTRAINT"}
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile"]
    subprocess.run([*pip, "--target", tmp_path, *packages], env=variables, check=True)
    tests = [
        "tests/modules/input_representations/transformer_pair_test.py",
        "tests/training_configs_transformer_test.py",
        "tests/compat_test.py::test_tokenizer_and_embedder_of_allennlp_read_and_embed_words",
        *(
            "-k",
            "(learn_in_one_step and bert) or archive_needs or vectors or long_pair or read_and_embed",
        ),
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests],
        cwd=str(root),
        env={**variables, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout.splitlines()[-1]


def test_archives_are_compressed_quickly(archive_path):
    """Which is in the ninth byte of a gzip file."""
    with open(archive_path, "rb") as file:
        assert file.read(9)[8] == 4
