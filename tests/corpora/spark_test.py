"""`mapInPandas` of a local Spark. `make test-spark` installs pyspark, which is too large for every run."""

import os
import shutil
import sys

import pytest

from allennlp_nef.corpora import Tagger
from tests.conftest import ROOT

pytest.importorskip("pyspark")
pytestmark = pytest.mark.skipif(
    "JAVA_HOME" not in os.environ and shutil.which("java") is None, reason="Spark needs Java"
)


@pytest.fixture(scope="module")
def spark():
    from pyspark.sql import SparkSession

    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": path,
            "SPARK_LOCAL_IP": "127.0.0.1",
        }.items():
            patch.setenv(name, value)
        session = builder.config("spark.executorEnv.PYTHONPATH", path).getOrCreate()
        yield session
        session.stop()


@pytest.mark.parametrize("model", ["ner_bilstm", "qe_bilstm"])
def test_map_in_pandas_takes_the_tagger(spark, baselines, sentences, model):
    words = [*sentences(40), ["a b"]]
    if model == "ner_bilstm":
        batch = {"tokens": words}
    else:
        batch = {"source": words[::-1], "target": words, "alignments": ["0-0"] * 41}
    rows = [(i, *row) for i, row in enumerate(zip(*batch.values()))]
    frame = spark.createDataFrame(rows, ["id", *batch]).repartition(4, "id")
    tagger = Tagger(baselines[model], threads=1)
    tagged = frame.mapInPandas(tagger.map, tagger.spark_schema(frame.schema))
    found = sorted(tagged.collect(), key=lambda row: row["id"])
    expected = tagger(batch)
    assert [row["id"] for row in found] == list(range(41))
    assert [row["tags"] for row in found] == list(expected["tags"])
    assert [row["error"] for row in found] == list(expected["error"])
    assert "expected words without whitespace" in found[40]["error"]
    kind = "type" if model == "ner_bilstm" else "severity"
    for row, spans in zip(found, expected["spans"]):
        got = row["spans"] and [(each["start"], each[kind], each["text"]) for each in row["spans"]]
        assert got == (spans and [(each["start"], each[kind], each["text"]) for each in spans])
