"""Archives that run code or write files when AllenNLP loads them, and damaged ones: `load_predictor` refuses both."""

import io
import json
import os
import sys
import tarfile
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from allennlp.common import Params, Registrable
from allennlp.models import Model, load_archive
from allennlp.models.archival import extracted_archive
from allennlp.nn import Initializer

from allennlp_nef import archives
from allennlp_nef.archives import checked_archive, load_predictor, unpack
from allennlp_nef.errors import ArchiveError, UserError
from tests.conftest import ROOT
from tests.predictors.small_models import member, members_of, with_value, write_members

REQUEST = {"sentence": "Anna slept in Rome ."}
CALL = {"type": "os.system", "command": "touch marker"}
IMPORT = "evil_module.thing"


@pytest.fixture(scope="module")
def run(small_run):
    """The folder of a run."""
    return Path(small_run())


@pytest.fixture
def config(run):
    return json.loads((run / "config.json").read_text(encoding="utf-8"))


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
def train(nef, config, tmp_path):
    """`train(place, value)`: trains with another value in the config; returns the status and the folder."""

    def run(place, value, **options):
        changed = with_value(config, place, value) | {
            "train_data_path": str(ROOT / "fixtures/ner/dev.conll"),
            "trainer": {"num_epochs": 1, "optimizer": "adam"},
            "data_loader": {"batch_size": 50},
            **options,
        }
        (tmp_path / "config.jsonnet").write_text(json.dumps(changed))
        return nef("train", tmp_path / "config.jsonnet", "-s", tmp_path / "new"), tmp_path / "new"

    return run


def parts_of(archive):
    """A model and an encoder that come from an archive, by their places in the config."""
    return {
        "model": {"type": "from_archive", "archive_file": str(archive)},
        "model.encoder": {"_pretrained": {"archive_file": str(archive), "module_path": "encoder"}},
    }


@pytest.fixture
def marker(tmp_path, monkeypatch):
    """The file that attacks write. The module `evil_module` writes it when it is imported."""
    path = tmp_path / "marker"
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "evil_module.py").write_text(f"open({str(path)!r}, 'w').close()\nthing = dict\n")
    yield path
    sys.modules.pop("evil_module", None)


def attack(path, marker, then=lambda archive: None):
    """Shows that an attack works on AllenNLP's loader."""
    with suppress(Exception):
        then(load_archive(str(path)))
    assert marker.exists()
    marker.unlink()
    sys.modules.pop("evil_module", None)


def refused(path, marker, part):
    """Checks that an archive is refused in one line, which names the part of it."""
    with pytest.raises(ArchiveError) as raised:
        load_predictor(str(path))
    assert not marker.exists() and "evil_module" not in sys.modules
    message = str(raised.value)
    assert message.startswith(f"{path}: ") and part in message and "\n" not in message


class TestAttacks:
    @pytest.mark.parametrize(
        "place, value, part",
        [
            ("model", CALL, "config.json"),
            ("dataset_reader", CALL, "config.json"),
            ("model.encoder", CALL, "config.json"),
            ("vocabulary.type", IMPORT, "config.json"),
            # A component without options may be given by its name alone.
            ("model.metrics", [IMPORT], IMPORT),
            ("model.encoder", IMPORT, IMPORT),
        ],
    )
    def test_names_that_would_be_imported(self, archive, config, marker, place, value, part):
        path = archive(config_json=with_value(config, place, value))
        attack(path, marker)
        refused(path, marker, part)

    def test_jsonnet_that_reads_a_file(self, archive, config, tmp_path, marker):
        (tmp_path / "secret").write_text("password")
        text = json.dumps(config)[:-1] + f", secret: importstr '{tmp_path}/secret' }}"
        path = archive(config_json=text)
        assert load_archive(str(path)).config["secret"] == "password"
        refused(path, marker, "config.json")

    def test_an_archive_within_the_archive(self, archive, config, marker):
        inner = archive("inner.tar.gz", config_json=with_value(config, "model", CALL))
        for place, value in parts_of(inner).items():
            path = archive(config_json=with_value(config, place, value))
            attack(path, marker)
            refused(path, marker, "from_archive" if place == "model" else "_pretrained")

    def test_a_metric_that_runs_a_program(self, archive, config, marker):
        value = [{"type": "evalb", "evalb_directory_path": f"/; touch {marker}; #"}]
        path = archive(config_json=with_value(config, "model.metrics", value))
        refused(path, marker, "evalb")

    def test_code_and_files_from_the_network(self, archive, config, marker, offline):
        place = "dataset_reader.token_indexers.a"
        code = {"type": "pretrained_transformer", "tokenizer_kwargs": {"trust_remote_code": True}}
        refused(archive(config_json=with_value(config, place, code)), marker, "trust_remote_code")
        for address in ("https://example.org", "(s3://bucket/a.zip)#b", "ht\ntps://example.org"):
            path = archive(config_json=with_value(config, "dataset_reader.x", address))
            refused(path, marker, "dataset_reader.x")
        # AllenNLP does not read pretrained embeddings again
        place = "model.text_field_embedder.token_embedders.tokens.pretrained_file"
        path = archive(config_json=with_value(config, place, "https://example.org/a.gz"))
        assert load_predictor(str(path)).predict_json(REQUEST)["tags"]

    def test_weights_that_call_a_function(self, archive, tmp_path, marker):
        class Call:
            def __reduce__(self):
                return os.system, (f"touch {marker}",)

        torch.save({"a": Call()}, str(tmp_path / "weights"))
        path = archive(weights_th=(tmp_path / "weights").read_bytes())
        torch.load(str(tmp_path / "weights"), weights_only=False)
        assert marker.exists()
        marker.unlink()
        refused(path, marker, "")

    def test_a_vocabulary_that_would_be_unpacked(self, run, tmp_path, marker):
        members = [each for each in members_of(run) if not each[0].name.startswith("vocabulary/")]
        path = write_members(tmp_path / "model.tar.gz", [*members, member("vocabulary", b"x")])
        refused(path, marker, "vocabulary")


class TestMembers:
    @pytest.fixture
    def inside(self, tmp_path):
        """The folder to unpack into. It lies in another folder, with one other file."""
        folder = tmp_path / "outside" / "inside"
        folder.mkdir(parents=True)
        (tmp_path / "outside" / "victim").write_text("safe")
        return folder

    @staticmethod
    def is_unchanged(inside):
        names = sorted(path.name for path in inside.parent.iterdir())
        return names == ["inside", "victim"] and (inside.parent / "victim").read_text() == "safe"

    @pytest.mark.parametrize("kind", ["relative", "absolute", "symbolic link", "hard link"])
    def test_members_outside_of_the_folder(self, inside, tmp_path, monkeypatch, kind):
        outside, content = str(inside.parent), b"changed"
        link = {"type": tarfile.LNKTYPE, "linkname": f"{outside}/victim"}
        members = {
            "relative": [member("../victim", content)],
            "absolute": [member(f"{outside}/victim", content)],
            "symbolic link": [
                member("a", type=tarfile.SYMTYPE, linkname=outside),
                member("a/victim", content),
            ],
            "hard link": [member("a", **link), member("a", content)],
        }[kind]
        path = write_members(tmp_path / "model.tar.gz", members)
        if kind == "absolute":  # written below the folder
            unpack(str(path), str(inside))
        else:
            with pytest.raises(ArchiveError):
                unpack(str(path), str(inside))
        assert self.is_unchanged(inside)
        if sys.version_info < (3, 14):  # later Pythons refuse such members themselves
            monkeypatch.setattr(tempfile, "mkdtemp", lambda: str(inside))
            with extracted_archive(str(path), cleanup=False):  # as AllenNLP does it
                assert not self.is_unchanged(inside)

    def test_devices(self, inside, tmp_path):
        path = write_members(tmp_path / "model.tar.gz", [member("a", type=tarfile.FIFOTYPE)])
        with pytest.raises(ArchiveError):
            unpack(str(path), str(inside))

    def test_too_large_members(self, inside, tmp_path, monkeypatch):
        members = [member(name, bytes(2**20)) for name in "ab"]
        path = write_members(tmp_path / "model.tar.gz", members)
        unpack(str(path), str(inside))
        monkeypatch.setattr(archives, "MIN_LIMIT", 2**20)
        with pytest.raises(ArchiveError):
            unpack(str(path), str(inside))


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

    @pytest.mark.parametrize("command", ["evaluate", "predict", "serve"])
    def test_commands_load_archives_safely_unless_trusted(
        self, nef, archive, config, marker, command
    ):
        path = archive(config_json=with_value(config, "model.encoder", IMPORT))
        arguments = [command, path, *(["none"] if command != "serve" else ["--port", 0])]
        assert nef(*arguments) == 2 and not marker.exists()
        with suppress(Exception):
            nef(*arguments, "--trust")
        assert marker.exists()

    @pytest.mark.parametrize("place", ["model", "model.encoder"])
    def test_training_loads_other_models_safely(self, train, archive, config, marker, place):
        path = archive(config_json=with_value(config, "model.encoder", IMPORT))
        status, folder = train(place, parts_of(path)[place])
        assert status == 2 and not marker.exists() and not folder.exists()

    def test_training_takes_initial_weights_safely(self, train, run, tmp_path):
        members = [*members_of(run), member("../victim", b"")]
        path = str(write_members(tmp_path / "model.tar.gz", members))
        start = {"type": "pretrained", "weights_file_path": path}
        status, _ = train("model.initializer", {"regexes": [[".*", start]]})
        assert status == 2
        assert not Path(tempfile.gettempdir(), "victim").exists()

    @pytest.mark.parametrize("place", ["model", "model.encoder"])
    def test_training_starts_from_another_model(self, train, archive, place):
        path = archive()
        vocabulary = {"type": "from_files", "directory": str(path)}
        status, folder = train(place, parts_of(path)[place], vocabulary=vocabulary)
        assert status == 0 and (folder / "model.tar.gz").exists()

    def test_a_thread_loads_safely_and_does_not_restrict_others(self, archive, run, config, marker):
        path = archive(config_json=with_value(config, "model.encoder", IMPORT))
        with checked_archive(str(run)), ThreadPoolExecutor(1) as pool:
            pool.submit(refused, path, marker, IMPORT).result()
            pool.submit(attack, path, marker).result()

    def test_names_are_checked_only_while_archives_are_loaded(self, run, archive, config, marker):
        """Two threads load archives; the first one ends first."""
        original = vars(Registrable)["resolve_class_name"]
        assert original.__func__.__module__ == "allennlp.common.registrable"
        path = archive(config_json=with_value(config, "model.encoder", IMPORT))
        with ThreadPoolExecutor(1) as pool:
            first = checked_archive(str(run))
            pool.submit(first.__enter__).result()
            with checked_archive(str(run)):
                pool.submit(first.__exit__, None, None, None).result()
                with pytest.raises(ArchiveError):
                    Model.by_name("os.system")
                refused(path, marker, IMPORT)
        assert vars(Registrable)["resolve_class_name"] is original

    def test_trained_model_writes_no_file_outside_its_folder(self, run, tmp_path):
        members = [*members_of(run), member("../victim", b"")]
        path = write_members(tmp_path / "model.tar.gz", members)
        before = {*Path(tempfile.gettempdir()).iterdir()}
        options = {"type": "trained_model", "archive": str(path)}
        with pytest.raises(ArchiveError):
            Initializer.from_params(Params(options))
        assert {*Path(tempfile.gettempdir()).iterdir()} == before


class TestDamage:
    def test_a_missing_archive_is_named(self):
        with pytest.raises(UserError) as raised:
            load_predictor("runs/none/model.tar.gz")
        assert str(raised.value) == "runs/none/model.tar.gz: no such file"

    def test_a_damaged_archive_is_named(self, archive, marker):
        path = archive()
        content = path.read_bytes()
        checksum = bytes([content[-8] ^ 1])  # of gzip
        for damaged in (
            content[:-1000],
            b"",
            content[1000:],
            content[:-8] + checksum + content[-7:],
        ):
            path.write_bytes(damaged)
            refused(path, marker, "damaged")

    def test_an_archive_without_weights_is_named(self, run, tmp_path, marker):
        members = [each for each in members_of(run) if each[0].name != "weights.th"]
        refused(write_members(tmp_path / "model.tar.gz", members), marker, "weights")

    @pytest.mark.parametrize(
        "files",
        [
            {"config_json": "{oops"},
            {"config_json": {"model": {}}},
            {"config_json": "[" * 100_000},
            {"weights_th": b"hello world"},
            {"weights_th": b""},
            {"vocabulary/labels_txt": b"\xff"},
        ],
        ids=["no JSON", "no reader", "too deep", "no weights", "empty weights", "no UTF-8"],
    )
    def test_a_damaged_file_is_a_mistake_in_the_archive(self, archive, marker, files):
        refused(archive(**files), marker, "")

    def test_an_archive_of_another_version_is_named(self, archive, config, run, marker):
        other = with_value(config, "model.input_representation", {"type": "sentence"})
        refused(archive(config_json=other), marker, "another version")
        weights = torch.load(run / "best.th", weights_only=True)
        weights.pop(min(weights))
        stream = io.BytesIO()
        torch.save(weights, stream)
        refused(archive(weights_th=stream.getvalue()), marker, "another version")

    def test_weights_of_another_model_name_the_first_that_differs(self, run, tmp_path):
        weights = torch.load(run / "best.th", weights_only=True)
        shape = (3, *weights["encoder._module.weight_ih_l0"].shape[1:])
        torch.save({**weights, "encoder._module.weight_ih_l0": torch.ones(shape)}, tmp_path / "w")
        with pytest.raises(ArchiveError) as raised, checked_archive(str(run)) as folder:
            load_archive(folder, weights_file=str(tmp_path / "w"))
        parts = ("encoder._module.weight_ih_l0", "[3, 8]", "[20, 8]", "--weights-file")
        assert all(part in str(raised.value) for part in parts)
        with pytest.raises(ArchiveError, match="none.th"), checked_archive(str(run)) as folder:
            load_archive(folder, weights_file="none.th")

    def test_a_component_of_another_package_is_named_with_the_option(self, archive, config, marker):
        refused(
            archive(config_json=with_value(config, "model.type", "unknown")),
            marker,
            "--include-package",
        )

    def test_a_bug_in_a_model_is_no_mistake_in_the_archive(self, archive, monkeypatch):
        def fail(*arguments, **options):
            raise AttributeError("a bug")

        monkeypatch.setattr("allennlp_nef.models.nef_tagger.NefTagger.load_state_dict", fail)
        with pytest.raises(AttributeError, match="a bug"):
            load_predictor(str(archive()))
