"""Archives that run code where AllenNLP loads them, and that `load_predictor` refuses."""

import io
import json
import os
import pickle
import random
import sys
import tarfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from functools import partial

import pytest
import torch
from allennlp.common import Params, file_utils, util
from allennlp.common.checks import ConfigurationError
from allennlp.data import Tokenizer
from allennlp.models import Model, load_archive
from transformers import dynamic_module_utils

from allennlp_nef.errors import ArchiveError, UserError, needing
from allennlp_nef.predictors.archives import (
    load_predictor,
    naming_archive,
    only_registered,
    problems_of,
    safe_archives,
)
from allennlp_nef.pretrained import load_tokenizer, load_transformer
from allennlp_nef.saved_versions import naming_versions
from tests.predictors.small_archives import (
    REQUEST,
    member,
    members_of,
    save_run,
    with_value,
    write_members,
)
from tests.small_transformer import save_bert


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("safe") / "run"
    save_run(folder)
    return folder


@pytest.fixture
def archive(run, tmp_path):
    """`archive(config_json=..., weights_th=...)`: an archive with other files; a config may be a text or a dict."""

    def write(name="model.tar.gz", **files):
        config = files.get("config_json")
        if config is not None:
            text = config if isinstance(config, str) else json.dumps(config)
            files["config_json"] = text.encode("utf-8")
        return write_members(tmp_path / name, members_of(run, **files))

    return write


@pytest.fixture
def config(run):
    return json.loads((run / "config.json").read_text(encoding="utf-8"))


@pytest.fixture
def marker(tmp_path, monkeypatch):
    """The file that attacks write. The module `evil_module` writes it when it is imported."""
    path = tmp_path / "marker"
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "evil_module.py").write_text(f"open({str(path)!r}, 'w').close()\nthing = dict\n")
    yield path
    sys.modules.pop("evil_module", None)


def attack(path, marker, then=lambda archive: None):
    """Shows that the attack works on AllenNLP's loader."""
    with suppress(Exception):
        then(load_archive(str(path)))
    assert marker.exists()
    marker.unlink()
    sys.modules.pop("evil_module", None)


HINT = "; --trust (in Python trust=True) loads it without these checks"


def refused(path, marker, message, hint=HINT):
    with pytest.raises(ArchiveError) as raised:
        load_predictor(str(path))
    assert not marker.exists() and "evil_module" not in sys.modules
    lines = str(raised.value).splitlines()
    assert len(lines) == 1 and lines[0].startswith(f"{path}: {message}"), lines
    assert lines[0].endswith(hint)


CALL = {"type": "os.system", "command": "touch marker"}
IMPORT = "evil_module.thing"
TOKENIZER = {"tokenizer_class": "Evil", "auto_map": {"AutoTokenizer": ["tokenization.Evil", None]}}


class TestConfigs:
    @pytest.mark.parametrize(
        "place, value, refused_at",
        [
            ("model", CALL, "model.type"),
            ("dataset_reader", CALL, "dataset_reader.type"),
            ("validation_dataset_reader", CALL, "validation_dataset_reader.type"),
            ("model.metrics", [{"type": "tag_accuracy"}, CALL], "model.metrics.1.type"),
            ("model.metrics", [IMPORT], "model.metrics.0"),
            ("model.encoder", IMPORT, "model.encoder"),
            ("vocabulary.type", IMPORT, "vocabulary.type"),
            (
                "dataset_reader.source_token_indexers",
                {"a": IMPORT},
                "dataset_reader.source_token_indexers.a",
            ),
        ],
    )
    def test_types_that_are_imported_are_refused(
        self, archive, config, marker, monkeypatch, place, value, refused_at
    ):
        monkeypatch.chdir(marker.parent)
        path = archive(config_json=with_value(config, place, value))
        attack(path, marker)
        name = "evil_module.thing" if IMPORT in json.dumps(value) else "os.system"
        refused(
            path, marker, f"config.json: {refused_at}: expected a registered name, got {name!r}"
        )

    @pytest.mark.parametrize(
        "place",
        ["evaluation.batch_serializer", "data_loader.batch_sampler", "trainer.callbacks.type"],
    )
    def test_types_of_parts_that_are_not_built_are_refused(self, archive, config, marker, place):
        """Those that only `evaluate` or a training would import."""
        path = archive(config_json=with_value(config, place, IMPORT))
        refused(path, marker, f"config.json: {place}: expected a registered name, got")

    def test_an_archive_within_is_refused(self, archive, config, marker, monkeypatch):
        monkeypatch.chdir(marker.parent)
        inner = archive("inner.tar.gz", config_json=with_value(config, "model", CALL))
        start = {"type": "from_archive", "archive_file": str(inner)}
        module = {"_pretrained": {"archive_file": str(inner), "module_path": "encoder"}}
        for place, value in (("model", start), ("model.encoder", module)):
            path = archive(config_json=with_value(config, place, value))
            attack(path, marker)
            with pytest.raises(
                ArchiveError, match="inner.tar.gz: config.json: model.type: expected"
            ):
                load_predictor(str(path))
            assert not marker.exists()

    def test_an_archive_that_is_built_from_itself_ends(self, archive, config, tmp_path):
        start = {"type": "from_archive", "archive_file": str(tmp_path / "model.tar.gz")}
        path = archive(config_json=with_value(config, "model", start))
        with pytest.raises(
            ArchiveError, match="at most 5 archives that are built one from another"
        ):
            load_predictor(str(path))

    def test_jsonnet_is_refused(self, archive, config, tmp_path, marker):
        (tmp_path / "secret").write_text("password")
        text = json.dumps(config)[:-1] + f", secret: importstr '{tmp_path}/secret' }}"
        path = archive(config_json=text)
        assert load_archive(str(path)).config["secret"] == "password"
        refused(path, marker, "config.json: expected plain JSON, got another text (", ")")

    def test_deep_json_is_refused(self, archive, marker):
        path = archive(config_json='{"a":' * 100_000 + "1" + "}" * 100_000)
        refused(path, marker, "config.json: expected JSON that is less deep", "")

    def test_code_of_a_tokenizer_is_refused(self, archive, config, tmp_path, marker, monkeypatch):
        monkeypatch.setattr(dynamic_module_utils, "HF_MODULES_CACHE", str(tmp_path / "modules"))
        folder = tmp_path / "bert"
        save_bert(folder)
        (folder / "tokenization.py").write_text(
            # A class of its own: transformers marks it as one with code of its own.
            "import evil_module\nfrom transformers import BertTokenizer\nclass Evil(BertTokenizer): pass"
        )
        (folder / "tokenizer_config.json").write_text(json.dumps(TOKENIZER))
        value = {"type": "pretrained_transformer", "model_name": str(folder)}
        value["tokenizer_kwargs"] = {"trust_remote_code": True}
        place = "dataset_reader.source_tokenizer"
        path = archive(config_json=with_value(config, place, value))
        attack(path, marker)
        place += ".tokenizer_kwargs.trust_remote_code"
        refused(path, marker, f"config.json: {place}: expected false, got True")

    def test_a_metric_that_runs_a_program_is_refused(self, archive, config, marker):
        value = [{"type": "evalb", "evalb_directory_path": f"/; touch {marker}; #"}]
        path = archive(config_json=with_value(config, "model.metrics", value))
        attack(path, marker, lambda loaded: loaded.model.metrics[0]([], []))
        refused(
            path,
            marker,
            "config.json: model.metrics.0.type: expected a component that runs no program",
        )

    def test_addresses_are_refused_but_for_files_that_are_not_read(
        self, archive, config, marker, offline
    ):
        place = "model.input_representation.source_embedder.token_embedders.tokens.pretrained_file"
        path = archive(config_json=with_value(config, place, "https://example.org/vectors.gz"))
        assert load_predictor(str(path)).predict_json(REQUEST)["tags"]
        path = archive(config_json=with_value(config, "dataset_reader.aligner", "hf://a/b/c.gz"))
        message = "config.json: dataset_reader.aligner: expected a file, got the address"
        refused(path, marker, message)
        for address in (" https://example.org", "(s3://bucket/a.zip)#b", "ht\ntps://example.org"):
            path = archive(config_json=with_value(config, "dataset_reader.aligner", address))
            refused(path, marker, message)

    def test_a_bad_value_at_any_place_is_found(self, config):
        """100 places by chance."""
        numbers = random.Random(0)
        assert problems_of(config) == {}
        for _ in range(100):
            changed = part = json.loads(json.dumps(config))
            while True:
                inner = [
                    value
                    for value in (part.values() if isinstance(part, dict) else part)
                    if isinstance(value, (dict, list)) and value
                ]
                if not inner or numbers.random() < 0.3:
                    break
                part = numbers.choice(inner)
            bad = {numbers.choice(["type", "trust_remote_code"]): "os.system"}
            if isinstance(part, dict):
                part["x"] = [bad]
            else:
                part.insert(numbers.randrange(len(part) + 1), bad)
            (problem,) = problems_of(changed).values()
            assert problem.startswith("expected ") and problem.endswith(", got 'os.system'")

    def test_include_package_in_a_config_is_not_read(self, archive, config, marker):
        path = archive(config_json={**config, "include_package": ["evil_module"]})
        assert load_predictor(str(path)).predict_json(REQUEST)["tags"]
        assert not marker.exists()


class TestRestrictions:
    def test_names_are_not_imported_whoever_asks(self, marker):
        with only_registered():
            for kind, name in ((Model, IMPORT), (Tokenizer, "os.path")):
                with pytest.raises(ConfigurationError, match="expected a registered name of"):
                    kind.by_name(name)
            assert Model.by_name("nef_tagger").__name__ == "NefTagger"
        assert not marker.exists()
        assert Tokenizer.by_name(IMPORT) is dict  # as before

    def test_nothing_is_installed(self):
        with (
            only_registered(),
            pytest.raises(ConfigurationError, match="expected an installed model"),
        ):
            Tokenizer.from_params(Params({"type": "spacy", "language": "no_such_model"}))

    def test_contexts_of_several_threads_end_in_any_order(self):
        before = torch.load, util.spacy_download
        first, second = only_registered(), only_registered()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert torch.load is not before[0]
        second.__exit__(None, None, None)
        assert (torch.load, util.spacy_download) == before


class Call:
    """Calls a function when it is unpickled."""

    def __init__(self, *call):
        self.call = call

    def __reduce__(self):
        return self.call[0], self.call[1:]


class TestOtherFiles:
    def test_weights_that_call_a_function_are_refused(self, archive, tmp_path, marker, monkeypatch):
        file = tmp_path / "weights"
        torch.save({"a": Call(os.system, f"touch {marker}")}, str(file))
        path = archive(weights_th=file.read_bytes())
        with monkeypatch.context() as patch:
            if "weights_only" in torch.load.__code__.co_varnames:  # as in older versions of torch
                patch.setattr(torch, "load", partial(torch.load, weights_only=False))
            attack(path, marker)
            refused(path, marker, "weights.th: expected tensors only, got posix.system", "")
        refused(path, marker, "weights.th: expected tensors only, got posix.system", "")

    def test_weights_in_the_folder_of_a_run_are_checked_too(self, archive, run, tmp_path):
        (tmp_path / "run").mkdir()
        for info, content in members_of(run, weights_th=pickle.dumps(Call(print, "called"))):
            file = tmp_path / "run" / info.name
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(content)
        with pytest.raises(ArchiveError, match="run: weights.th: expected tensors only, got "):
            load_predictor(str(tmp_path / "run"))

    def test_a_vocabulary_that_allennlp_would_unpack_is_refused(self, archive, run, tmp_path):
        members = [each for each in members_of(run) if not each[0].name.startswith("vocabulary/")]
        info, content = next(members_of(run))
        info.name = "vocabulary"
        path = write_members(tmp_path / "model.tar.gz", [*members, (info, content)])
        with pytest.raises(ArchiveError, match="vocabulary: expected a folder, got a file"):
            load_predictor(str(path))

    def test_links_in_the_archive_of_a_vocabulary_stay_inside(
        self, archive, run, config, tmp_path, monkeypatch
    ):
        members = [each for each in members_of(run) if each[0].name.startswith("vocabulary/")]
        for name, target in (("inner", "."), ("outer", "inner/..")):
            members.append(member(name, type=tarfile.SYMTYPE, linkname=target))
        members.append(member("outer/marker"))
        directory = str(write_members(tmp_path / "vocabulary.tar.gz", members))
        vocabulary = {"type": "from_files", "directory": directory}
        path = archive(config_json=with_value(config, "model.vocab", vocabulary))
        monkeypatch.setattr(file_utils, "CACHE_DIRECTORY", str(tmp_path / "cache"))
        refused = pytest.raises(UserError, match="model.tar.gz: .*outside")
        # Python 3.14 changes such a link to one that stays inside.
        with nullcontext() if sys.version_info >= (3, 14) else refused:
            load_predictor(str(path))
        assert not (tmp_path / "cache/marker").exists()
        if sys.version_info >= (3, 14):
            return
        load_predictor(str(path), trust=True)
        assert (tmp_path / "cache/marker").exists()

    def test_code_of_the_transformer_in_an_archive_is_not_run(self, tmp_path, marker, monkeypatch):
        """Nor is the user asked whether to run it."""
        monkeypatch.setattr("builtins.input", lambda text: "y")
        folder = tmp_path / "transformer"
        save_bert(folder)
        for name in ("tokenization", "configuration", "modeling"):
            (folder / f"{name}.py").write_text("import evil_module\nEvil = dict")
        (folder / "tokenizer_config.json").write_text(json.dumps(TOKENIZER))
        config = {"auto_map": {"AutoConfig": "configuration.Evil", "AutoModel": "modeling.Evil"}}
        (folder / "config.json").write_text(json.dumps({**config, "model_type": "evil"}))
        for load in (load_tokenizer, load_transformer):
            with pytest.raises(ConfigurationError, match="model_name: expected "):
                load(str(folder))
        assert not marker.exists()


class TestTrust:
    def test_a_trusted_archive_is_loaded_as_allennlp_does(self, archive, config, marker):
        path = archive(config_json=with_value(config, "model.metrics", [IMPORT]))
        with suppress(Exception):
            load_predictor(str(path), trust=True)
        assert marker.exists()

    def test_archives_and_folders_load_alike(self, archive, run):
        answers = [
            load_predictor(str(path), trust=trust).predict_json(REQUEST)
            for path in (archive(), run)
            for trust in (False, True)
        ]
        assert answers == answers[:1] * 4

    def test_every_loading_within_the_context_is_safe(self, archive, config, marker):
        path = archive(config_json=with_value(config, "model.encoder", IMPORT))
        with safe_archives(), pytest.raises(ArchiveError):
            Model.from_archive(str(path))
        attack(path, marker)

    def test_a_thread_that_trusts_is_not_restricted_while_others_load_safely(
        self, archive, config, marker
    ):
        path = archive(config_json=with_value(config, "model.metrics", [IMPORT]))
        with safe_archives(), ThreadPoolExecutor(1) as pool:
            with suppress(Exception):
                pool.submit(load_predictor, str(path), trust=True).result()
            assert marker.exists()
            marker.unlink()
            sys.modules.pop("evil_module", None)
            with pytest.raises(ArchiveError):
                pool.submit(load_predictor, str(path)).result()
            with pytest.raises(ArchiveError):
                Model.from_archive(str(path))
        assert not marker.exists()


def test_bug_in_a_model_that_is_loaded_is_no_mistake_of_the_user(archive, monkeypatch):
    def fail(*arguments, **options):
        raise AttributeError("a bug")

    monkeypatch.setattr("allennlp_nef.models.NefTagger.load_state_dict", fail)
    with pytest.raises(AttributeError, match="a bug"):
        load_predictor(str(archive()))


def test_weights_without_a_parameter_are_a_mistake_in_the_archive(archive, run):
    weights = torch.load(run / "best.th", weights_only=True)
    weights.pop(min(weights))
    with pytest.raises(UserError, match="model.tar.gz: expected the archive of a trained model"):
        load_predictor(str(archive(weights_th=saved(weights))))


def saved(value):
    stream = io.BytesIO()
    torch.save(value, stream)
    return stream.getvalue()


@pytest.mark.parametrize("trust", [False, True])
def test_a_folder_in_place_of_the_config_is_a_mistake_in_the_archive(run, tmp_path, trust):
    members = [each for each in members_of(run) if each[0].name != "config.json"]
    members.append(member("config.json", type=tarfile.DIRTYPE))
    path = write_members(tmp_path / "model.tar.gz", members)
    with pytest.raises(UserError, match=f"^{path}: .*config.json: expected a file"):
        load_predictor(str(path), trust=trust)


@pytest.mark.parametrize("trust", [False, True])
@pytest.mark.parametrize(
    "files, message",
    [
        ({"config_json": "{oops"}, "config.json:1:|config.json: expected plain JSON"),
        (
            {"config_json": {"model": {}}},
            "config.json: expected an object with dataset_reader, got",
        ),
        (
            {"config_json": {"dataset_reader": {}}},
            "config.json: expected an object with model, got",
        ),
        ({"meta_json": b"{oops"}, "meta.json: expected .*, got Expecting property name"),
        ({"meta_json": b"{}"}, "meta.json: expected .*, got "),
        ({"weights_th": b"hello world"}, "weights.th: expected tensors only, got another or a dam"),
        (
            {"weights_th": saved([torch.ones(1)])},
            "weights.th: expected tensors by the names .* list",
        ),
        ({"vocabulary/labels_txt": b"\xff"}, "can't decode byte 0xff"),
        (
            {"vocabulary/non_padded_namespaces_txt": b""},
            "vocabulary/non_padded_namespaces.txt: expected the namespace of the labels in it",
        ),
    ],
    ids=repr,
)
def test_a_damaged_file_is_a_mistake_in_the_archive(archive, files, message, trust):
    path = archive(**files)
    with pytest.raises(UserError, match=f"^{path}: .*{message}"):
        load_predictor(str(path), trust=trust)


def test_a_dataset_reader_may_be_a_name_alone(archive, config):
    load_predictor(str(archive(config_json={**config, "dataset_reader": "wmt_word_qe"})))


def test_a_missing_extra_is_told_as_it_is(run):
    with (
        pytest.raises(UserError, match=r"^sacremoses: expected the extra tokenize.*\(none\)$"),
        naming_archive(str(run)),
        naming_versions(run),
        needing("tokenize", "sacremoses"),
    ):
        raise ImportError("none")
