"""`allennlp plot-labels`, from an archive to its files."""

import numpy
import pytest

from allennlp_nef.cli.plot_labels import embeddings_of, label_positions

FILES = {"labels.png", "labels.svg", "metadata.tsv", "vectors.tsv"}


@pytest.fixture
def run(allennlp, capsys, tmp_path):
    """`run(*arguments)`: the names of the files, and what the command prints; the folder is `tmp_path / "out"`."""

    def run(*arguments):
        capsys.readouterr()
        allennlp("plot-labels", *arguments, "--output", tmp_path / "out")
        return {path.name for path in (tmp_path / "out").iterdir()}, capsys.readouterr().out

    return run


def test_all_files_are_written_and_listed(run, predictor_of, baselines, tmp_path):
    names, out = run(baselines["pos_lan"])
    model = predictor_of(baselines["pos_lan"])._model
    folder = tmp_path / "out"
    assert names == FILES
    assert out.splitlines() == [
        f"{len(model.tag_head.labels)} label embeddings: vectors.tsv and metadata.tsv in {folder}",
        f"1 plot: labels.png, labels.svg in {folder}",
    ]
    assert (folder / "metadata.tsv").read_text().splitlines() == model.tag_head.labels
    vectors = numpy.loadtxt(str(folder / "vectors.tsv"), delimiter="\t")
    table = model.encoder.label_table.weight.detach().numpy()
    assert vectors == pytest.approx(table, rel=1e-6)
    text = (folder / "labels.svg").read_text()
    assert ">BiLSTM-LAN, 3 layers<" in text
    assert all(f">{label}<" in text for label in model.tag_head.labels)


def test_the_same_options_give_the_same_plot(run, baselines, tmp_path):
    found = []
    for perplexity in (2.5, 2.5, 3):
        run(baselines["pos_lan"], "--format", "svg", "--perplexity", perplexity)
        found.append((tmp_path / "out" / "labels.svg").read_text())
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize(
    "options, message",
    [
        (["--perplexity", "50"], "--perplexity: expected less than the {count} labels of "),
        (["--output", ""], "--output: expected the name of a folder, got ''"),
    ],
)
def test_options_that_cannot_be_used(failure, predictor_of, baselines, tmp_path, options, message):
    count = len(predictor_of(baselines["pos_lan"])._model.tag_head.labels)
    options = [option.format(count=count) for option in options]
    arguments = ("plot-labels", baselines["pos_lan"], "--output", tmp_path / "out", *options)
    assert failure(*arguments).startswith("error: " + message.format(count=count))


def test_embeddings_that_are_not_finite_are_refused(predictor_of, baselines):
    predictor = predictor_of(baselines["pos_lan"])
    weight = predictor._model.encoder.label_table.weight
    before = weight.detach().clone()
    try:
        weight.data[0, 0] = float("nan")
        with pytest.raises(ValueError, match="^here: expected label embeddings of finite numbers"):
            embeddings_of(predictor, "here")
    finally:
        weight.data.copy_(before)


class TestPositions:
    @pytest.mark.parametrize("count, dim", [(1, 1), (2, 400), (100, 9)])
    def test_each_label_has_two_finite_coordinates(self, count, dim):
        vectors = numpy.random.RandomState(0).randn(count, dim)
        positions = label_positions(vectors)
        assert positions.shape == (count, 2)
        assert numpy.isfinite(positions).all()

    def test_similar_embeddings_are_close(self):
        noise = numpy.random.RandomState(0).randn(20, 50)
        positions = label_positions(noise + numpy.repeat([[0], [40]], 10, axis=0))
        first, second = positions[:10], positions[10:]
        spread = max(numpy.ptp(first, axis=0).max(), numpy.ptp(second, axis=0).max())
        assert numpy.linalg.norm(first.mean(0) - second.mean(0)) > spread
