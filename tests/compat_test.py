"""What AllenNLP's modules see of packages that have changed, that are missing, or that are slow to import."""

import builtins
import copy
import io
import os
import pickle
import subprocess
import sys
import warnings
from importlib.metadata import PackageNotFoundError
from typing import Any

import pytest
import torch
from allennlp.common import Lazy, Params, Registrable
from allennlp.common.checks import ConfigurationError
from allennlp.common.from_params import FromParams
from allennlp.training.optimizers import Optimizer

from allennlp_nef import compat
from tests.small_transformer import SAVE


def run_python(code, root, folder, fails=False, **variables):
    """The last line that a new process prints; of its errors if it `fails`."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=str(folder),
        env={**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{folder}", **variables},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (done.returncode != 0) == fails, done.stderr
    return (done.stderr if fails else done.stdout).splitlines()[-1]


def write_package(folder, name, **modules):
    """A package with modules that contain these lines; `init` is the package itself."""
    (folder / name).mkdir(parents=True)
    for module, lines in {"init": "", **modules}.items():
        file = "__init__.py" if module == "init" else f"{module}.py"
        (folder / name / file).write_text(lines, encoding="utf-8")


# The start.


def test_allennlp_and_its_plugins_start_without_slow_packages(root, tmp_path):
    lines = "from nltk import Tree\nfrom rouge import Rouge\n"
    write_package(tmp_path, "allennlp_models", trees=lines)
    code = """
import sys, allennlp.commands
from allennlp.common.plugins import import_plugins
import_plugins()
assert "allennlp_models.trees" in sys.modules
slow = "nltk pandas pytest scipy sklearn spacy torch._dynamo transformers.utils".split()
print([name for name in slow if name in sys.modules])
"""
    assert run_python(code, root, tmp_path) == "[]"


def test_it_can_be_turned_off(root, tmp_path):
    code = "import sys, _allennlp_nef_start as start; print(start.Finder in sys.meta_path)"
    assert run_python(code, root, tmp_path) == "True"
    assert run_python(code, root, tmp_path, ALLENNLP_NEF_COMPAT="0") == "False"


def test_modules_that_another_finder_finds_are_adapted(root, tmp_path):
    """An editable installation has a finder of its own."""
    write_package(tmp_path / "checkout", "allennlp_models", init="from nltk import Tree\n")
    code = """
import sys
from importlib.machinery import PathFinder
class Editable:
    def find_spec(name, path=None, target=None):
        return PathFinder.find_spec(name, ["checkout"]) if name == "allennlp_models" else None
sys.meta_path.append(Editable)
from allennlp_models import Tree
print(type(Tree).__name__)
"""
    assert run_python(code, root, tmp_path) == "Placeholder"


def test_functions_and_other_modules_import_as_usual(root, tmp_path):
    write_package(tmp_path, "allennlp_models", trees="import nltk\ndef find():\n    import nltk\n")
    write_package(tmp_path, "nltk", init="raise ModuleNotFoundError('nltk itself')\n")
    code = """
import builtins, _allennlp_nef_start
usual = builtins.__import__
from allennlp_models.trees import find
assert builtins.__import__ is usual and find.__builtins__ is vars(builtins)
find()
"""
    assert run_python(code, root, tmp_path, fails=True).endswith("nltk itself")


# Placeholders.


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with a module that reports when it is imported, and one that is not installed."""
    words = "print('imported')\nclass Word(str): pass\ndef double(x): return 2 * x\n"
    errors = "class NotFound(Exception): pass\n"
    write_package(tmp_path, "slow_package", words=words, exceptions=errors)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(compat, "_LAZY", ("slow_package", "missing_package"))
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("slow_package")]:
        del sys.modules[name]


def run(code):
    """The names that a module of AllenNLP has after this code."""
    import_in = {**vars(builtins), "__import__": compat._import}
    names: dict[str, Any] = {"__name__": "module", "__builtins__": import_in}
    exec(code, names)
    return names


class TestPlaceholders:
    def test_names_import_their_module_when_they_are_used(self, package, capsys):
        names = run(
            "import slow_package.words\nfrom slow_package.words import Word, double\n"
            "assert not isinstance('a', Word)\n"
        )
        assert not any(name.startswith("slow_package") for name in sys.modules)
        assert names["double"](2) == 4
        assert capsys.readouterr().out == "imported\n"
        real = sys.modules["slow_package.words"]
        assert isinstance(real.Word("a"), names["Word"])
        assert names["slow_package"].words.double(3) == 6
        assert run("from slow_package.words import double")["double"] is real.double

    def test_a_subclass_has_the_class_itself_as_its_base(self, package):
        names = run("from slow_package.words import Word\nclass Noun(Word): pass\n")
        assert names["Noun"].__mro__[1] is sys.modules["slow_package.words"].Word

    def test_the_use_of_a_missing_package_is_an_error(self, package):
        names = run("from missing_package.words import Word\nclass Noun(Word): pass\n")
        for name in ("Word", "Noun"):
            with pytest.raises(ModuleNotFoundError, match="missing_package"):
                names[name]("a")

    def test_an_error_inside_a_package_is_its_own(self, package):
        (package / "slow_package" / "broken.py").write_text("import another_package\n")
        with pytest.raises(ModuleNotFoundError, match="another_package"):
            run("from slow_package.broken import name\nname()")

    @pytest.mark.parametrize("name", ["missing_package", "slow_package"])
    def test_exceptions_can_be_caught(self, name, package):
        code = f"from {name}.exceptions import NotFound\nimport {name}.exceptions as errors\n"
        for caught in ("NotFound", "errors.NotFound"):
            with pytest.raises(KeyError):
                run(f"{code}try:\n    raise KeyError\nexcept {caught}:\n    pass\n")
        if name in sys.modules:
            assert run(code)["NotFound"] is sys.modules[f"{name}.exceptions"].NotFound


def test_an_error_of_a_path_of_s3_is_its_own(root, tmp_path):
    names = ("ClientError", "ConnectionError", "HTTPClientError")
    errors = "".join(f"class {name}(Exception): pass\n" for name in names)
    session = (
        "import botocore.exceptions as errors\ndef Session(): raise errors.ClientError('none')\n"
    )
    write_package(tmp_path, "boto3", session=session, dynamodb="")
    write_package(tmp_path, "botocore", client="", config="Config = None\n", exceptions=errors)
    # Inside the code that catches errors of the network.
    code = """
from cached_path.schemes import s3
from allennlp.common.file_utils import cached_path
s3.S3Client.__init__ = lambda self, path: None
s3.S3Client.get_etag = lambda self: s3._get_s3_resource_client()
cached_path("s3://bucket/key", "cache")
"""
    assert run_python(code, root, tmp_path, fails=True).endswith("ClientError: none")


# What AllenNLP's modules can do.


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
        parts: list[Lazy[Base] | str] | None = None,
        size: int | str = 0,
    ) -> None:
        self.part, self.parts, self.size = part, parts, size


def test_types_with_bars_are_built_from_configs():
    params = {"part": {"size": 1}, "parts": [{"type": "part", "size": 2.5}], "size": "all"}
    whole = Whole.from_params(Params(params))
    part = whole.parts[0].construct()
    assert (type(whole.part), type(part)) == (Part, Part)
    assert (whole.part.size, part.size, whole.size) == (1, 2.5, "all")
    assert Whole.from_params(Params({})).part is None
    with pytest.raises(ConfigurationError):
        Whole.from_params(Params({"size": [1]}))


class Sized(FromParams):
    def __init__(self, size: int) -> None:
        self.size = size


def test_values_of_options_are_checked_by_allennlp_alone():
    """`"1"` is a `TypeError` and `true` is 1 in stock AllenNLP."""
    with pytest.raises(TypeError):
        Sized.from_params(Params({"size": "1"}))
    assert Sized.from_params(Params({"size": True})).size == 1


def test_schedulers_step_and_can_be_saved(tmp_path):
    from allennlp.training.learning_rate_schedulers import LearningRateScheduler

    for params in (
        {"type": "reduce_on_plateau", "patience": 0, "verbose": True},
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


def test_a_missing_gpu_is_reported_by_allennlp():
    from allennlp.common.checks import check_for_gpu
    from allennlp.common.util import int_to_device

    assert int_to_device(-1).type == "cpu" and int_to_device(1).index == 1
    if not torch.cuda.is_available():
        with pytest.raises(ConfigurationError):
            check_for_gpu(0)


def test_the_nearest_registered_name_is_suggested():
    with pytest.raises(ConfigurationError, match="'part'"):
        Base.by_name("prat")


def test_tensors_of_a_cache_are_loaded():
    from allennlp.common import file_utils

    buffer = io.BytesIO()
    file_utils.torch.save(torch.ones(2), buffer, pickle_protocol=pickle.HIGHEST_PROTOCOL)
    buffer.seek(0)
    assert file_utils.torch.load(buffer, map_location="cpu").tolist() == [1, 1]


def test_local_files_need_no_folder_for_downloads(tmp_path, monkeypatch):
    from allennlp.common import file_utils

    monkeypatch.setattr(file_utils, "CACHE_DIRECTORY", "/dev/null/cache")
    (tmp_path / "file").touch()
    for path, options in ((tmp_path / "file", {}), (tmp_path, {"extract_archive": True})):
        assert file_utils.cached_path(path, **options) == str(path)
    with pytest.raises(FileNotFoundError):
        file_utils.cached_path(tmp_path / "none")
    with pytest.raises(NotADirectoryError):
        file_utils.cached_path("https://example.org/a")


def test_mixed_precision_gives_no_warning():
    from allennlp.training import gradient_descent_trainer

    with warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)
        with gradient_descent_trainer.amp.autocast(False):
            scaler = gradient_descent_trainer.amp.GradScaler(enabled=False)
    assert isinstance(scaler, torch.amp.GradScaler)


def make_optimizer(**options):
    params = Params({"lr": 0.1, **options})
    return Optimizer.from_params(
        params, model_parameters=[("a", torch.nn.Parameter(torch.ones(2)))]
    )


def test_adamw_is_torchs():
    assert isinstance(make_optimizer(type="huggingface_adamw"), torch.optim.AdamW)
    with pytest.raises(ValueError):
        make_optimizer(type="huggingface_adamw", correct_bias=False)


def test_adafactor_is_that_of_transformers():
    from transformers.optimization import Adafactor

    optimizer = make_optimizer(type="huggingface_adafactor", relative_step=False)
    assert isinstance(copy.deepcopy(optimizer), Adafactor)


def test_push_to_hf_fails_only_when_it_is_used(tmp_path):
    from allennlp.common.push_to_hf import push_to_hf

    with pytest.raises(ModuleNotFoundError, match="HfFolder"):
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


# What `import allennlp_nef` asks for.


@pytest.mark.parametrize("installed", [None, "1.5.0"])
def test_another_or_no_allennlp_is_reported_with_the_command(installed, monkeypatch):
    def version(name):
        if installed is None:
            raise PackageNotFoundError
        return installed

    monkeypatch.setattr("importlib.metadata.version", version)
    with pytest.raises(ImportError, match="pip install --no-deps allennlp==2.10.1 "):
        compat.require_allennlp()
