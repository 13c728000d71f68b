import http.client
import json

import pytest

pytest.importorskip("allennlp_server")

GOOD = {"source": "the red house", "target": "das rote Haus", "alignments": "0-0 1-1 2-2"}


def test_the_server_answers_good_and_bad_requests_and_ends_quietly(
    serve, archive_path, word_qe, tmp_path
):

    def post(path, body):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        body = json.dumps(body).encode("ascii")
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        kind, content = response.getheader("Content-Type"), response.read()
        connection.close()
        assert kind == "application/json"
        return response.status, json.loads(content.decode("utf-8"))

    def output():
        return (tmp_path / "stdout.txt").read_text() + (tmp_path / "stderr.txt").read_text()

    with serve(tmp_path, archive_path, "word_qe") as (process, port):
        status, answer = post("/predict", GOOD)
        expected = word_qe().predict_json(GOOD)
        assert status == 200
        assert answer["tokens"] == ["das", "rote", "Haus"]
        assert answer["tags"] == expected["tags"]
        assert answer["bad_probabilities"] == pytest.approx(expected["bad_probabilities"], abs=1e-5)
        status, asked = post("/predict", {**GOOD, "attention": True})
        assert status == 200
        assert [len(step) for step in asked.pop("attention")] == [3, 3, 3]
        assert set(asked) == set(answer) and asked["tags"] == answer["tags"]
        assert asked["bad_probabilities"] == pytest.approx(answer["bad_probabilities"], abs=1e-5)
        assert post("/predict_batch", [GOOD] * 2)[0] == 200
        assert post("/predict_batch", []) == (200, [])

        status, refused = post("/predict", {"source": "a", "target": "\ud800"})
        expected = "target: expected a word without surrogates that are not in pairs"
        assert (status, refused["message"].startswith(expected)) == (400, True)
        assert post("/predict", GOOD) == (200, answer)
        assert process.poll() is None
        before = output()
        process.terminate()
        assert process.wait(60) == 0
    # The line of the last request may come late.
    later = set(output().splitlines()) - set(before.splitlines())
    assert all('"POST /predict ' in line for line in later) and "Traceback" not in before
