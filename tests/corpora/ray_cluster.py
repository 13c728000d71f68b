"""A cluster of Ray with two nodes on this machine, of which one is killed while it works."""

import json
import threading
import time

import pytest

from allennlp_nef.corpora import Tagger

pytest.importorskip("ray.data")
from tests.corpora.tag_corpus_test import write_rows

# A node is dead after a second without a sign of life, in place of 15.
QUICK = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 200,
    "health_check_timeout_ms": 1000,
    "health_check_failure_threshold": 5,
}


@pytest.fixture(scope="module")
def cluster():
    """The cluster, with a CPU a node."""
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "object_store_memory": 80 * 2**20}
    head = {**node, "include_dashboard": False, "_system_config": QUICK}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        cluster.add_node(**node)
        yield cluster
    finally:
        cluster.shutdown()


def test_map_batches_takes_the_tagger(cluster, baselines, sentences):
    import ray

    expected = Tagger(baselines["ner_bilstm"])({"tokens": sentences(30)})
    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
    try:
        rows = [{"id": i, "tokens": words} for i, words in enumerate([*sentences(30), ["a b"]])]
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.execution_options.preserve_order = True
        tagged = ray.data.from_items(rows, override_num_blocks=4).map_batches(
            Tagger,
            fn_constructor_args=[str(baselines["ner_bilstm"])],
            fn_constructor_kwargs={"threads": 1},
            compute=ray.data.ActorPoolStrategy(size=1),
            batch_size=None,
        )
        found = tagged.take_all()
    finally:
        ray.shutdown()
    assert [row["id"] for row in found] == list(range(31))
    assert [list(row["tags"]) for row in found[:30]] == list(expected["tags"])
    assert [row["error"] is None for row in found] == [True] * 30 + [False]
    assert [len(row["spans"]) for row in found[:30]] == list(map(len, expected["spans"]))


def test_a_node_that_is_killed_changes_nothing(cluster, tag, tmp_path, sentences):
    rows = [{"id": i, "tokens": words} for i, words in enumerate(sentences(2000))]
    path = write_rows(tmp_path / "a.jsonl", rows)
    notes = tmp_path / "tagged" / "_parts.jsonl"
    (node,) = set(cluster.list_all_nodes()) - {cluster.head_node}
    done = []

    def kill():
        while len(set(done)) < 2:  # until both have tagged something
            time.sleep(0.02)
            text = notes.read_text() if notes.exists() else ""
            done[:] = [
                json.loads(line)["process"]
                for line in text.splitlines(keepends=True)
                if line.endswith("\n")
            ]
        cluster.remove_node(node, allow_graceful=False)

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    options = ("--shard-size", "50", "--workers", "2")
    status, text, out, _ = tag("pos_bilstm", path, *options, "--address", cluster.address)
    thread.join(timeout=60)
    assert status == 0 and not thread.is_alive()
    assert 2 <= len(done) < 40, "the node was killed too late"
    assert "2,000 sentences in 40 parts" in out
    assert len(notes.read_text().splitlines()) == 40
    assert text == tag("pos_bilstm", path, *options[:2], folder=tmp_path / "alone")[1]
    assert text.count(b"\n") == 2000
