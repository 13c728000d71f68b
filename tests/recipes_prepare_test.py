"""The models that recipes/prepare_models.py prepares, and the rows of benchmarks/speed.py."""

import pytest
import torch

from allennlp_nef import load

pytestmark = pytest.mark.usefixtures("benchmarks")


def test_an_archive_with_weights_of_16_bits(archive_path, tmp_path):
    from prepare_models import packaged

    packaged("qe-multilingual", archive_path, tmp_path / "half.tar.gz")
    assert (tmp_path / "half.tar.gz").stat().st_size < 0.6 * archive_path.stat().st_size
    full, half = (load(str(path)) for path in (archive_path, tmp_path / "half.tar.gz"))
    for weights, rounded in zip(full._model.parameters(), half._model.parameters()):
        torch.testing.assert_close(rounded, weights, rtol=1e-3, atol=1e-6)  # of the same type


def test_a_row_says_whether_its_aim_is_missed(tmp_path):
    from speed import Row, Settings, decoders

    assert str(Row("step", "ours", "theirs", 3.0, 1.0, 2.5)).endswith("2.5, missed |")
    assert "| 3.00 |" in str(Row("step", "ours", "theirs", 3.0, 1.0))
    assert next(decoders(Settings(tmp_path, quick=True), "decoder")).ours > 0
