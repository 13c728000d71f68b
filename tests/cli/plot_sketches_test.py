"""`allennlp plot-sketches`, from archives to files."""

import errno
import json
import tarfile
from functools import partial
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import numpy
import pytest
import torch
from allennlp.interpret.saliency_interpreters import SimpleGradient

from allennlp_nef.cli.plot_sketches import (
    SketchModel,
    check_saliency,
    load_models,
    read_answers,
    summary_text,
)
from allennlp_nef.errors import DataFormatError, UserError
from allennlp_nef.predictors.base import Answer
from tests.cli.sketch_answers import DESCRIPTION, random_answer

PNG = b"\x89PNG\r\n"
WORDS = "$x$ <b> a_b \\frac 日本語 é"


@pytest.fixture
def plot(allennlp, capsys, tmp_path):
    """`plot(*arguments)`: the names of the files, and what the command prints; the folder is `tmp_path / "out"`."""

    def plot(*arguments):
        capsys.readouterr()
        allennlp("plot-sketches", *arguments, "--output", tmp_path / "out")
        names = sorted(path.name for path in (tmp_path / "out").glob("*"))
        return names, capsys.readouterr().out

    return plot


@pytest.fixture
def fail(failure, tmp_path):
    return partial(failure, "plot-sketches", "--output", tmp_path / "out")


@pytest.fixture
def maps(monkeypatch):
    """What the heat maps are drawn of, one a sentence; nothing is drawn."""
    drawn = []

    def heat_map(answers, descriptions):
        drawn.append((answers, [description["title"] for description in descriptions]))

    monkeypatch.setattr("allennlp_nef.figures.heat_maps.heat_map", heat_map)
    monkeypatch.setattr("allennlp_nef.cli.plot_sketches.save_figure", lambda *arguments: [])
    return drawn


@pytest.fixture(scope="session")
def other_archive(archive_path, tmp_path_factory):
    """The folder of the quality estimator, with softmax in place of csoftmax."""
    folder = tmp_path_factory.mktemp("other") / "qe_softmax"
    with tarfile.open(str(archive_path)) as archive:
        archive.extractall(str(folder))
    config = json.loads((folder / "config.json").read_text())
    config["model"]["decoder"]["attention"] = {"type": "softmax"}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def requests_file(tmp_path, *requests):
    path = tmp_path / "requests.txt"
    path.write_text("\ufeff" + "\n\n".join(map(json.dumps, requests)), encoding="utf-8")
    return path


class TestFiles:
    def test_all_files_are_written_and_listed(self, plot, ner_archive, tmp_path):
        names, out = plot(
            ner_archive, "fixtures/ner/test.conll", "--limit", 2, "--html", "--summary"
        )
        assert names == [
            "index.html",
            *(f"sentence-000{i}.{ending}" for i in (1, 2) for ending in ("png", "svg")),
            *("summary.json", "summary.png", "summary.svg", "summary.txt"),
        ]
        folder = tmp_path / "out"
        for path in folder.glob("*.png"):
            assert path.read_bytes().startswith(PNG)
        for path in folder.glob("*.svg"):
            assert "<svg " in path.read_text(encoding="utf-8")
        text = (folder / "summary.txt").read_text(encoding="utf-8")
        assert out.splitlines() == [
            *text.splitlines(),
            "",
            f"2 heat maps: {folder / 'sentence-0001.png'} to {folder / 'sentence-0002.png'}",
            f"2 heat maps: {folder / 'sentence-0001.svg'} to {folder / 'sentence-0002.svg'}",
            f"1 page: {folder / 'index.html'}",
            f"1 summary: summary.txt, summary.json, summary.png, summary.svg in {folder}",
        ]
        # The summary is of all sentences.
        (results,) = json.loads((folder / "summary.json").read_text())
        assert results["sentences"] == 100
        assert summary_text([results]) == text
        assert {row["tag"] for row in results["first_step"]} >= {"B-PER", "I-PER", "O"}

    def test_the_page_has_the_answers_of_the_predictor(
        self, plot, maps, archive_path, word_qe, tmp_path
    ):
        plot(archive_path, "fixtures/qe/test", "--limit", 3, "--html")
        text = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
        data = text.split('id="page-data">')[1].split("</script>")[0]
        (model,) = json.loads(data)["models"]
        predictor = word_qe(trace=True)
        assert model["description"] == {**predictor.description(), "examples": None}
        instances = list(islice(predictor._dataset_reader.read("fixtures/qe/test"), 3))
        answers = predictor.predict_batch_instance(instances)
        expected = [{**answer, "gold": answer.metadata.tags} for answer in answers]
        for sentence, answer in zip(model["sentences"], json.loads(json.dumps(expected))):
            assert set(sentence) == set(answer) >= {"source", "alignments", "trace", "gold"}
            assert sentence["tokens"] == answer["tokens"]
            assert sentence["gold"] == answer["gold"]
        assert [sentence for (sentence,) in zip(model["sentences"])] == [
            answers for (answers,) in (m[0] for m in maps)
        ]


class TestInput:
    def test_data_are_plotted_with_gold_tags_up_to_the_limit(self, plot, maps, archive_path, root):
        limit = 7
        plot(archive_path, "fixtures/qe/test", "--batch-size", 3, "--limit", limit)
        lines = (root / "fixtures" / "qe" / "test.mt").read_text(encoding="utf-8").splitlines()
        tags = (root / "fixtures" / "qe" / "test.tags").read_text(encoding="utf-8").splitlines()
        answers = [answer for (answer,), _ in maps]
        assert [" ".join(answer["tokens"]) for answer in answers] == lines[:limit]
        assert [" ".join(answer["gold"]) for answer in answers] == tags[:limit]
        for answer in answers:
            assert len(answer["trace"]["attention"]) == min(5, len(answer["tokens"]))

    def test_requests_are_plotted_without_gold_tags(self, plot, maps, ner_archive, tmp_path):
        path = requests_file(tmp_path, {"sentence": WORDS, "attention": True}, {"tokens": ["Rome"]})
        _, out = plot(ner_archive, path, "--summary")
        assert [answer["tokens"] for (answer,), _ in maps] == [WORDS.split(), ["Rome"]]
        assert all(answer["gold"] is None and answer["trace"] for (answer,), _ in maps)
        assert "Not all sentences have gold tags" in out

    def test_no_more_sentences_are_read_than_asked_for(self, archive_path):
        """No more sentences are read than are asked for."""
        models = load_models([str(archive_path)], batch_size=4)
        read = []
        reader = models[0].predictor._dataset_reader
        original = reader.to_instance
        reader.to_instance = lambda example: read.append(example) or original(example)
        answers = read_answers(models, "fixtures/qe/test", 4)
        for number, expected in enumerate([4, 4, 4, 4, 8], 1):
            next(answers)
            assert len(read) == expected, number


class TestCompare:
    def test_maps_and_summaries_of_several_archives(
        self, plot, maps, archive_path, other_archive, tmp_path
    ):
        arguments = ("--compare", other_archive, "--limit", 2, "--summary", "--html")
        _, out = plot(archive_path, "fixtures/qe/test", *arguments)
        titles = ["NEF-F csoftmax, N = 5", "NEF-F softmax, N = 5"]
        assert [own for _, own in maps] == [titles] * 2
        for answers, _ in maps:
            first, second = answers
            assert first["tokens"] == second["tokens"]
            assert first["trace"]["attention"] != second["trace"]["attention"]
        results = json.loads((tmp_path / "out" / "summary.json").read_text())
        assert [(one["title"], one["archive"]) for one in results] == [
            *((titles[0], str(archive_path)), (titles[1], str(other_archive)))
        ]
        text = (tmp_path / "out" / "summary.txt").read_text(encoding="utf-8")
        assert text == summary_text(results)
        assert text in out

    def test_equal_titles_get_the_paths(self, plot, maps, archive_path, other_archive):
        others = ("--compare", archive_path, other_archive)
        plot(archive_path, "fixtures/qe/test", "--limit", 1, *others)
        ((_, titles),) = maps
        assert titles == [*(f"NEF-F csoftmax, N = 5 ({archive_path})",) * 2, "NEF-F softmax, N = 5"]

    def test_another_task_is_refused(self, fail, archive_path, ner_archive):
        assert fail(ner_archive, "fixtures/ner/test.conll", "--compare", archive_path) == (
            f"error: {archive_path}: expected a model of the task chunks like {ner_archive}, got word_qe"
        )

    @pytest.mark.parametrize(
        "words, message",
        [
            (["ab", "xd"], "got 'c' for A and 'x' for B as word 1"),
            (["ab"], "got 1 for B"),
            (["ab", "c"], "got 2 for A and 1 for B"),
        ],
    )
    def test_other_words_are_refused(self, words, message):
        models = [
            SketchModel(name, FakePredictor(sentences), DESCRIPTION)
            for name, sentences in (("A", ["ab", "cd"]), ("B", words))
        ]
        with pytest.raises(DataFormatError, match=f"^input: .* for each archive, {message}$"):
            list(read_answers(models, "input", 2))


class FakePredictor:
    """Of sentences of one-letter words."""

    def __init__(self, sentences):
        self.sentences = sentences
        self._dataset_reader = self

    def read(self, path):
        yield from self.sentences

    def predict_batch_instance(self, batch):
        answers = [
            Answer({**random_answer(len(words), 1), "tokens": list(words)}) for words in batch
        ]
        for answer in answers:
            answer.metadata = SimpleNamespace(tags=None)
        return answers


class TestSaliency:
    def test_maps_of_both_sides_stand_beside_the_attention(
        self, plot, maps, archive_path, word_qe, tmp_path
    ):
        request = {"source": "the red house", "target": "das Haus", "alignments": "0-0 2-1"}
        path = requests_file(tmp_path, request, {**request, "alignments": ""})
        plot(archive_path, path, "--saliency", "--html")
        ((attention, *saliency), titles), ((*_, unaligned), _) = maps
        name = "NEF-F csoftmax, N = 5"
        parts = ["", "\nsaliency of the words", "\nsaliency of the source words"]
        assert titles == [name + part for part in parts]
        assert [one["tokens"] for one in saliency] == [["das", "Haus"], ["the", "red", "house"]]
        assert [one["tags"] for one in saliency] == [attention["tags"], [None] * 3]
        found = SimpleGradient(word_qe()).saliency_interpret_from_json(request)
        for one, key in zip(saliency, ("grad_input_2", "grad_input_1")):
            assert one["trace"]["predictions"] == ["das", "Haus"]
            expected = [values[key] for values in found.values()]
            assert numpy.allclose(one["trace"]["attention"], expected, atol=1e-5)
        assert unaligned["trace"]["attention"] == [[0] * 3] * 2
        page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
        assert "predictions" not in page.split('id="page-data">')[1].split("</script>")[0]

    def test_the_rows_are_the_predicted_chunks(self, plot, maps, ner_archive, tmp_path):
        path = requests_file(tmp_path, {"sentence": "Anna slept in Rome ."}, {"sentence": "the ."})
        plot(ner_archive, path, "--saliency")
        for ((answer, saliency), _), other in zip(maps, (None, ["no chunk"])):
            texts = [span["text"] for span in answer["spans"]]
            assert saliency["trace"]["predictions"] == (other or texts)
            sums = numpy.sum(saliency["trace"]["attention"], 1)
            assert sums == pytest.approx(numpy.ones(len(other or texts)), abs=1e-4)

    def test_a_model_without_vectors_of_words_is_refused(
        self, ner_archive, predictor_of, monkeypatch
    ):
        predictor = predictor_of(ner_archive)
        modules = predictor._model._modules
        monkeypatch.setitem(modules, "input_representation", torch.nn.Identity())
        with pytest.raises(UserError, match="a.tar.gz: --saliency: .* expected a single model"):
            check_saliency(SketchModel("a.tar.gz", predictor, {}))


class TestErrors:
    @pytest.mark.parametrize(
        "line, message",
        [
            (
                "--limit 0",
                "--limit: expected 0 only with --summary and without --html, or at least 1",
            ),
            ("--limit 0 --summary --saliency", "--saliency: expected heat maps, got --limit 0"),
            ("--cuda-device 99", "--cuda-device: expected -1 or the number of a GPU, got 99 ("),
        ],
    )
    def test_options_that_do_not_go_together(self, fail, line, message):
        assert fail("archive", "input", *line.split()).startswith(f"error: {message}")

    def test_output_that_cannot_be_written(self, fail, ner_archive, tmp_path):
        path = tmp_path / "out" / "sentence-0001.png"
        path.mkdir(parents=True)
        assert fail(ner_archive, "fixtures/ner/test.conll", "--limit", 1) == (
            f"error: {path}: expected a file, got a folder or a special file"
        )

    def test_a_plot_that_breaks_off_leaves_the_earlier_file(
        self, fail, ner_archive, tmp_path, monkeypatch
    ):
        from matplotlib.figure import Figure

        def savefig(self, path, **options):
            Path(path).write_bytes(b"half")
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(Figure, "savefig", savefig)
        path = tmp_path / "out" / "sentence-0001.png"
        path.parent.mkdir()
        path.write_text("an earlier one")
        assert fail(ner_archive, "fixtures/ner/test.conll", "--limit", 1) == (
            f"error: {path}: expected a file that can be written, got 'No space left on device'"
        )
        assert path.read_text() == "an earlier one"
        assert list(path.parent.iterdir()) == [path]
