"""What `allennlp-nef` prints for mistakes of the user, and what it raises for bugs."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from functools import wraps

import pytest
from allennlp.data.data_loaders.multiprocess_data_loader import WorkerError
from torch.multiprocessing import ProcessExitedException, ProcessRaisedException

from allennlp_nef.cli import score_tags
from allennlp_nef.cli.terminal import error_message
from allennlp_nef.compat import NotInstalledError
from allennlp_nef.data import WmtWordQeReader
from allennlp_nef.errors import DataFormatError, UserError
from allennlp_nef.models import NefTagger
from allennlp_nef.modules.seq2seq_encoders import NeuralEasyFirst
from tests.small_experiment import HAS_ALLENNLP_MODELS

CONFIG = "training_configs/qe_nef_f.jsonnet"


def write_data(folder, **changes):
    """Two sentences; a change to None leaves the file out. Returns the prefix."""
    files = {
        "src": "the red house\na cup\n",
        "mt": "das rote Haus\neine Tasse\n",
        "tags": "OK BAD OK\nOK BAD\n",
        "src-mt.alignments": "0-0 1-1 2-2\n0-0 1-1\n",
    }
    for ending, text in {**files, **changes}.items():
        if text is not None:
            (folder / f"some.{ending}").write_text(text, encoding="utf-8")
    return folder / "some"


@pytest.fixture
def fail(console):
    """`fail(*arguments)`: the line that is printed for a mistake."""

    def run(*arguments):
        status, out, err = console(*arguments)
        assert status == 2, err
        assert "Traceback" not in out + err
        *others, line = err.replace("\r", "\n").splitlines()
        assert not any(other and "it/s" not in other for other in others), others
        assert line.startswith("error: ")
        return line[len("error: ") :]

    return run


class TestTraining:
    """Mistakes in configs, overrides and data."""

    @pytest.fixture
    def train(self, fail, tmp_path):
        def run(config=CONFIG, **overrides):
            limits = {
                "dataset_reader.max_instances": 8,
                "validation_dataset_reader.max_instances": 4,
            }
            settings = json.dumps({**limits, **overrides})
            return fail("train", config, "-s", tmp_path / "run", "-o", settings)

        return run

    @pytest.mark.skipif(HAS_ALLENNLP_MODELS, reason="needs to be without allennlp-models")
    def test_model_of_allennlp_models_says_how_to_install_them(self, train):
        line = train("training_configs/parse_biaffine.jsonnet")
        expected = "model: biaffine_parser needs allennlp-models: pip install --no-deps"
        assert line.startswith(expected)

    def test_unreadable_data_are_named_with_file_and_line(self, train, tmp_path):
        prefix = write_data(tmp_path, tags="OK BAD OK\nOK Bad\n")
        message = f"{prefix}.tags:2: expected OK or BAD, got 'Bad' as tag 2"
        assert train(train_data_path=str(prefix)) == message
        assert not (tmp_path / "run").exists()

    @pytest.mark.parametrize(
        "name, value, message",
        [
            ("trainer.optimizer.lr", -1, "trainer.optimizer (AdagradOptimizer): Invalid learning"),
            ("model.decoder.sketch_dim", "a", "model.decoder (NeuralEasyFirst): sketch_dim: expec"),
            (
                "model.decoder.context_size",
                True,
                "model.decoder (NeuralEasyFirst): context_size: ex",
            ),
            ("model.encoder", None, "model (NefTagger): encoder: expected an object, got None"),
            ("trainer.type", ".", "trainer.type: expected one of the names gradient_descent, nef"),
            (
                "data_loader.batch_sampler.padding_noise",
                None,
                "data_loader.batch_sampler (BucketBatchSampler): padding_noise: expected a number, got",
            ),
            ("model", None, f"{CONFIG}: model: expected an object, got None"),
            (
                "numpy_seed",
                2**32,
                f"{CONFIG}: numpy_seed: expected an integer from 0 to 4294967295",
            ),
            ("include_in_archive", [3], f"{CONFIG}: include_in_archive: expected a list of file n"),
            ("trainer.cuda_device", 77, f"{CONFIG}: trainer.cuda_device: expected -1 or the numb"),
        ],
    )
    def test_wrong_values_and_types_are_named(self, train, name, value, message):
        assert train(**{name: value}).startswith(message)

    def test_an_unknown_registered_name_is_named(self, train):
        message = train(**{"model.tag_head.type": "sotfmax"})
        assert message.startswith("model.tag_head.type: expected one of the names ")
        assert "got 'sotfmax'; did you mean softmax? (--include-package loads" in message

    @pytest.mark.parametrize(
        "name, message",
        [
            ("no_such.a", "--overrides: overrides dict contains unused keys: ['no_such.a']"),
            ("trainr.num_epochs", "['trainr.num_epochs']; did you mean trainer.num_epochs?"),
            ("trainer.num_epoch", ", got 'num_epoch'; did you mean num_epochs?"),
        ],
    )
    def test_unknown_options_are_named(self, train, name, message):
        assert message in train(**{name: 1})

    def test_overrides_that_are_not_json_are_named(self, fail, tmp_path):
        message = fail("train", CONFIG, "-s", tmp_path / "run", "-o", "{no")
        assert message.startswith("--overrides: STATIC ERROR: 1:") and "quotes" not in message
        message = fail("train", CONFIG, "-s", tmp_path / "run", "-o", "{trainer.num_epochs: 1}")
        assert message.endswith('a key with dots needs quotes, as in {"trainer.num_epochs": 1}')

    def test_a_config_that_is_not_jsonnet_is_named(self, train, tmp_path):
        path = tmp_path / "config.jsonnet"
        path.write_text("import 'none.libsonnet'")
        message = train(path)
        expected = f"{path}: expected a config in Jsonnet, got RUNTIME ERROR: couldn't open import"
        assert message.startswith(expected)
        path.write_text("[1]")
        assert train(path) == f"{path}: expected an object, got [1]"

    def test_a_run_is_not_overwritten_silently(self, train, tmp_path):
        (tmp_path / "run").mkdir()
        (tmp_path / "run" / "notes.txt").touch()
        assert train() == (
            f"{tmp_path / 'run'}: expected a new or empty folder, got one with files; -f replaces it, --recover "
            "goes on with its training"
        )
        assert [*(tmp_path / "run").iterdir()] == [tmp_path / "run" / "notes.txt"]

    @pytest.mark.parametrize("options", [["-f"], ["--recover"]])
    def test_a_mistake_removes_nothing_that_was_there(self, fail, tmp_path, options):
        (tmp_path / "run").mkdir()
        (tmp_path / "run" / "notes.txt").touch()
        assert fail("train", "none.jsonnet", "-s", tmp_path / "run", *options)
        assert (tmp_path / "run" / "notes.txt").exists()

    @pytest.mark.parametrize("is_new", [True, False])
    def test_after_a_mistake_the_corrected_command_works(
        self, console, train, small, tmp_path, is_new
    ):
        run = tmp_path / "run"
        if not is_new:
            run.mkdir()
        assert train(**{"trainer.patiense": 3}).startswith("trainer: expected one of the options")
        assert run.exists() is not is_new
        limits = {"validation_dataset_reader.max_instances": 4}
        assert console("train", CONFIG, "-s", run, *small(8, epochs=1, **limits))[0] == 0
        assert (run / "model.tar.gz").exists()

    def test_a_failure_after_an_epoch_leaves_the_run(self, train, tmp_path, monkeypatch):
        from allennlp_nef.training import NefTrainer

        train_epoch = NefTrainer._train_epoch

        def fail_in_the_second(self, epoch):
            if epoch:
                raise UserError("the second epoch")
            return train_epoch(self, epoch)

        monkeypatch.setattr(NefTrainer, "_train_epoch", fail_in_the_second)
        assert train() == "the second epoch"
        assert (tmp_path / "run" / "metrics_epoch_0.json").exists()
        assert "the second epoch" in (tmp_path / "run" / "out.log").read_text()


# The beginnings of the messages.
MISTAKES = {
    "--nope": "unrecognized arguments: --nope (allennlp-nef --help shows the options)",
    "trian": "expected one of the commands align-words, build-vocab, ",
    f"train {CONFIG}": "the following arguments are required: -s/--serialization-dir (allennlp-nef train --help",
    "train '' -s none": "CONFIG: expected the path of a config, got ''",
    "score-tags a --format x": "argument --format: invalid choice: 'x' (choose",
    "score-tags a --format conll --include-package no.such": "--include-package: expected packages that can be "
    "imported, got 'no.such' (No module named 'no'",
    "evaluate none ''": "input_file: expected a path, got ''",
    "evaluate none a,b --output-file one": "--output-file: expected 2 files, one for each input, separated by commas",
    f"find-lr {CONFIG} -s none --start-lr 1 --end-lr 0.1": "--end-lr: expected a number above --start-lr, 1.0, got 0.1",
    "print-results tests": "--keys: expected the names of metrics, got none",
    "print-results none -k f1": "none: expected a folder, got no such one",
    "serve --archive-path none --host ''": "--host: expected an address of this computer, got ''",
}
MISTAKES_OF_PREDICT = {
    "--batch-size 0": "--batch-size: expected an integer of at least 1, got 0",
    "--predictor-args [1]": "--predictor-args: expected a JSON object, got '[1]'",
    """--predictor-args '{"foo": 1}'""": "WordQePredictor: expected one of the options attention, batch_size, ",
    "--overrides [1]": "--overrides: expected a JSON object, got '[1]'",
    """-o '{"model.encoder.type": "no"}'""": "--overrides: expected what ARCHIVE can be loaded with, got Configuration",
    "--weights-file none": "--weights-file: expected a file, got 'none'",
    "--weights-file WEIGHTS": "--weights-file: WEIGHTS: expected tensors only, got ",
    "--cuda-device 99": "--cuda-device: expected -1 or the number of a GPU, got 99",
    "--predictor word_qa": ", got 'word_qa'; did you mean word_qe?",
    "--predictor text_classifier": "--predictor: expected nef_tagger or word_qe for this model, got 'text_classifier'",
    "--predictor sentence_tagger": "--predictor: expected nef_tagger or word_qe for this model, got 'sentence_tagger'",
}


class TestArguments:
    @pytest.mark.parametrize("line, message", MISTAKES.items())
    def test_wrong_arguments_are_one_line(self, fail, line, message):
        assert fail(*shlex.split(line)).startswith(message)

    @pytest.mark.parametrize("line, message", MISTAKES_OF_PREDICT.items())
    def test_wrong_arguments_of_predict_are_one_line(
        self, fail, archive_path, tmp_path, line, message
    ):
        path = tmp_path / "weights.th"
        path.write_text("no weights")
        arguments = shlex.split(line.replace("WEIGHTS", str(path)))
        message = message.replace("WEIGHTS", str(path)).replace("ARCHIVE", str(archive_path))
        assert message in fail("predict", archive_path, "fixtures/qe/test.src", *arguments)

    def test_traceback_is_shown_on_request(self, console):
        for arguments in (
            ("--traceback", "score-tags", "none", "--format", "conll"),
            ("score-tags", "none", "--traceback", "--format", "conll"),
        ):
            status, _, err = console(*arguments)
            assert status == 2
            assert err.startswith("Traceback (most recent call last):\n")
            assert err.splitlines()[-1] == "error: none: expected a file, got no such file"


class TestArchives:
    def test_wrong_and_missing_requests_are_named(self, fail, archive_path, tmp_path):
        path = tmp_path / "requests.jsonl"
        path.write_text('{"source": "a cup"}\n')
        message = "request 1: target: expected a string or a list of words, got no such field"
        assert fail("predict", archive_path, path) == message
        assert fail("predict", archive_path, "none") == "file none not found"

    @pytest.mark.parametrize(
        "data, message",
        [
            (
                b'\n{"source": "a", "target": "Caf\xe9"}\n',
                ":2: expected utf-8, got byte 0xe9 as byte",
            ),
            (b" \n\n", ": expected at least one sentence, got none"),
            (None, " not found"),
        ],
    )
    def test_input_that_cannot_be_read_is_named_and_leaves_the_output_as_it_was(
        self, fail, archive_path, tmp_path, data, message
    ):
        path, output = tmp_path / "requests.jsonl", tmp_path / "answers.jsonl"
        output.write_text("answers\n")
        if data is not None:
            path.write_bytes(data)
        arguments = ("predict", archive_path, path, "--silent", "--output-file", output)
        assert f"{path}{message}" in fail(*arguments)
        assert output.read_text() == "answers\n"
        fail("predict", archive_path, tmp_path / "none", "--use-dataset-reader", *arguments[3:])
        assert output.read_text() == "answers\n"

    def test_predict_does_not_write_over_what_it_reads(self, fail, tmp_path):
        path, link = tmp_path / "requests.jsonl", tmp_path / "link.jsonl"
        path.write_text("kept\n")
        link.symlink_to(path)
        message = f"--output-file: expected a file of its own, got '{path}' again"
        for arguments in (("none", path), (path, "none")):
            assert fail("predict", *arguments, "--output-file", link) == message
            assert fail("evaluate", *arguments, "--output-file", link).endswith(" again")
        assert path.read_text() == "kept\n"

    def test_the_output_of_build_vocab_is_checked(self, fail, tmp_path):
        path = tmp_path / "words.tar.gz"
        path.touch()
        assert fail("build-vocab", CONFIG, path) == (
            f"{path}: expected no such file, got one: --force writes over it"
        )
        message = "output_path: expected a name that ends with .tar.gz, got 'words'"
        assert fail("build-vocab", CONFIG, "words") == message

    def test_find_lr_needs_a_trainer_and_one_process(self, fail, tmp_path):
        arguments = ("find-lr", CONFIG, "-s", tmp_path / "run", "-o")
        message = f"{CONFIG}: distributed: expected no such key for find-lr"
        assert fail(*arguments, '{"distributed": {"cuda_devices": [-1, -1]}}') == message
        message = f"{CONFIG}: trainer: expected an object, got None"
        assert fail(*arguments, '{"trainer": null}') == message


PLUGIN_COMMAND = ("score-tags", "none", "--format", "conll", "--include-package", "allennlp_nef")
BUG = """
import sys
import allennlp_nef_console as console
console.imports_without_components = True  # it starts sooner
from allennlp_nef.cli import score_tags
score_tags._check = None
sys.exit(console.main(["score-tags", "a", "--format", "conll"]))
"""


def broken(function, error):
    """A function with the same signature that raises the error."""

    @wraps(function)
    def run(*arguments, **options):
        raise error

    return run


class TestBugs:
    LIMITS = ("-o", json.dumps({"dataset_reader.max_instances": 4}))

    @pytest.mark.parametrize(
        "place, name, error",
        [
            (NeuralEasyFirst, "__init__", AssertionError("a bug")),
            (NefTagger, "__init__", TypeError("f() got an unexpected keyword argument 'a bug'")),
            (WmtWordQeReader, "examples", ValueError("a bug")),
            (NefTagger, "forward", LookupError("a bug")),
        ],
    )
    def test_a_bug_in_a_component_is_raised(
        self, console, tmp_path, monkeypatch, place, name, error
    ):
        monkeypatch.setattr(place, name, broken(getattr(place, name), error))
        with pytest.raises(type(error), match="a bug"):
            console("train", CONFIG, "-s", tmp_path / "run", *self.LIMITS)

    def test_a_bug_shows_its_traceback_and_the_status_is_1(self, root):
        done = subprocess.run(
            [sys.executable, "-c", BUG],
            env={**os.environ, "PYTHONPATH": str(root)},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("Traceback (most recent call last):")
        assert done.stderr.endswith("TypeError: 'NoneType' object is not callable\n")

    def test_a_bug_is_raised_in_allennlps_program(self, allennlp, monkeypatch, capsys):
        monkeypatch.setattr(score_tags, "_check", None)
        with pytest.raises(TypeError):
            allennlp(*PLUGIN_COMMAND)
        assert "Traceback (most recent call last):" in capsys.readouterr().err


def test_allennlps_program_reports_a_mistake_on_one_line(allennlp, capsys):
    with pytest.raises(SystemExit) as end:
        allennlp(*PLUGIN_COMMAND)
    assert end.value.code == 2
    assert capsys.readouterr().err == "error: none: expected a file, got no such file\n"


class TestSignals:
    @pytest.mark.parametrize(
        "number, status, line",
        [(signal.SIGINT, 130, "error: interrupted"), (signal.SIGTERM, 143, "error: terminated")],
    )
    def test_a_signal_in_training_ends_with_its_status(
        self, console, tmp_path, monkeypatch, request, number, status, line
    ):
        from allennlp.commands.train import TrainModel

        # The worker processes of pytest-xdist ignore it.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))

        def run(self):
            os.kill(os.getpid(), number)

        monkeypatch.setattr(TrainModel, "run", run)
        overrides = '{"dataset_reader.max_instances": 4}'
        got, out, err = console("train", CONFIG, "-s", tmp_path / "run", "-o", overrides)
        assert (got, err.splitlines()[-1]) == (status, line)
        assert re.search("^Training interrupted by the user, and no best model", out, re.MULTILINE)


@pytest.mark.parametrize(
    "error, message",
    [
        (UserError("one\n  two\n"), "one; two"),
        (DataFormatError("x:1: expected"), "x:1: expected"),
        (
            FileNotFoundError(2, "No such file", "x"),
            "x: expected a file or folder that can be used, got 'No such file'",
        ),
        (FileNotFoundError("file x not found"), "file x not found"),
        (OSError(28, "No space left on device"), "[Errno 28] No space left on device"),
        (
            NotInstalledError("x is not installed: pip install x"),
            "x is not installed: pip install x",
        ),
        (ProcessExitedException("killed", 0, 0, 9), "killed; a training goes on with --recover"),
        (ProcessRaisedException("allennlp_nef.errors.UserError: x:1: y\n", 0, 1), "x:1: y"),
        (ProcessRaisedException("ValueError: x\n", 0, 1), None),
        (WorkerError("", ["allennlp_nef.errors.DataFormatError: x:1: y\n"]), "x:1: y"),
        (OSError("a bug"), None),
        (ModuleNotFoundError("a bug"), None),
        (ValueError("a bug"), None),
        (SystemExit(3), None),
    ],
    ids=repr,
)
def test_the_type_of_an_error_tells_a_mistake_from_a_bug(error, message):
    assert error_message(error) == message
