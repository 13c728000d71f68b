"""The threshold of word-level quality estimation, and `min_probability` of other taggers."""

import json

import numpy
import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.models import load_archive
from allennlp.predictors import Predictor

from allennlp_nef.modules.calibration import Calibration

QE_REQUEST = {"source": "the doctors see cups .", "target": "die Schwestern sehen drei Tassen ."}
NER_REQUEST = {"sentence": "Anna Schmidt met Paul in Rome last year ."}


def tags_at(threshold, answer):
    return ["BAD" if p >= threshold else "OK" for p in answer["bad_probabilities"]]


def middle_of(answer):
    """A threshold that some words reach, exactly the probability of one of them."""
    return sorted(answer["bad_probabilities"])[3]


@pytest.fixture
def own_copy(archive_path):
    """A predictor whose model no other test has."""
    return Predictor.from_archive(load_archive(str(archive_path)), "word_qe")


class TestThreshold:
    def test_threshold_of_a_request_decides(self, word_qe):
        predictor = word_qe()
        plain = predictor.predict_json(QE_REQUEST)
        threshold = middle_of(plain)
        answer = predictor.predict(**QE_REQUEST, threshold=threshold)
        assert answer["threshold"] == threshold
        assert answer["bad_probabilities"] == pytest.approx(plain["bad_probabilities"])
        assert answer["tags"] == tags_at(threshold, answer)
        assert answer["tags"].count("BAD") == 3
        highest = max(plain["bad_probabilities"])
        answer = predictor.predict(**QE_REQUEST, threshold=highest)
        assert answer["tags"] == tags_at(highest, answer)
        assert answer["tags"].count("BAD") == 1

    def test_sentences_of_a_batch_have_thresholds_of_their_own(self, word_qe):
        thresholds = [None, 1e-9, 0.999, None]
        requests = [{**QE_REQUEST, "threshold": each} for each in thresholds]
        answers = word_qe().predict_batch_json(requests)
        assert [answer["threshold"] for answer in answers] == pytest.approx(
            [1 / 6, 1e-9, 0.999, 1 / 6], rel=1e-6
        )
        assert answers[1]["tags"] == ["BAD"] * 6
        assert answers[2]["tags"] == ["OK"] * 6
        assert answers[0]["tags"] == answers[3]["tags"] == tags_at(1 / 6, answers[0])

    def test_option_is_for_requests_without_one_and_for_files(self, word_qe, root):
        threshold = middle_of(word_qe().predict_json(QE_REQUEST))
        predictor = word_qe(threshold=threshold)
        assert predictor.description()["threshold"] == threshold
        assert predictor.predict_json(QE_REQUEST)["tags"].count("BAD") == 3
        assert predictor.predict_json({**QE_REQUEST, "threshold": 0.999})["tags"] == ["OK"] * 6
        tagged = word_qe(threshold=0.999, output_format="tags")
        instances = list(tagged._dataset_reader.read(str(root / "fixtures/qe/dev")))[:3]
        lines = [tagged.dump_line(answer) for answer in tagged.predict_batch_instance(instances)]
        assert set(" ".join(lines).split()) == {"OK"}

    @pytest.mark.parametrize(
        "value", [0, 1, True, "0.5", float("nan"), numpy.float64(0.5)], ids=str
    )
    def test_bad_options_are_refused(self, word_qe, value):
        with pytest.raises(ConfigurationError, match="threshold: expected a number above 0 and"):
            word_qe(threshold=value)

    def test_calibration_gives_probabilities_tags_and_answers(self, own_copy):
        before = own_copy.predict_json(QE_REQUEST)
        decoder = own_copy._model.tag_decoder
        decoder.calibrate(
            Calibration(2.0, {"BAD": 1.0}, threshold=0.6, base_rate={"OK": 0.75, "BAD": 0.25})
        )
        answer = own_copy.predict_json({**QE_REQUEST, "trace": True})
        p = numpy.array(before["bad_probabilities"])
        odds = numpy.exp(numpy.log(p / (1 - p)) / 2 + 1)
        assert answer["bad_probabilities"] == pytest.approx(odds / (1 + odds), rel=1e-4)
        assert (answer["threshold"], answer["base_rate"]) == (0.6, 0.25)
        assert answer["tags"] == tags_at(0.6, answer)
        assert answer["trace"]["tags"] == answer["tags"]
        decoder.calibrate(Calibration(2.0, {"BAD": 1.0}))
        without = own_copy.predict_json(QE_REQUEST)
        # The tags are those of the head, at the threshold that its own has after calibration.
        assert without["tags"] == before["tags"] == tags_at(without["threshold"], without)
        odds = numpy.exp(numpy.log(1 / 5) / 2 + 1)
        assert without["threshold"] == pytest.approx(odds / (1 + odds))
        assert "base_rate" not in without


class TestMinProbability:
    def test_improbable_spans_are_left_out(self, predictor_of, ner_archive):
        predictor = predictor_of(ner_archive)
        plain = predictor.predict_json(NER_REQUEST)
        spans = plain["spans"]
        limit = sorted(span["probability"] for span in spans)[1]
        assert len(spans) > 1
        answer = predictor.predict(NER_REQUEST["sentence"], min_probability=limit)
        dropped = min(spans, key=lambda span: span["probability"])
        assert answer["spans"] == [span for span in spans if span != dropped]
        for index, tag in enumerate(plain["tags"]):
            if dropped["start"] <= index < dropped["end"]:
                assert answer["tags"][index] == "O"
                assert answer["probabilities"][index] < 1 - plain["probabilities"][index] + 1e-6
            else:
                assert answer["tags"][index] == tag
                assert answer["probabilities"][index] == plain["probabilities"][index]

    def test_uncertain_words_of_other_taggers_are_listed(self, predictor_of, pos_archive):
        request = {"sentence": "Anna dort dans la maison ."}
        predictor = predictor_of(pos_archive, min_probability=0.0)
        plain = predictor.predict_json(request)
        assert plain["uncertain"] == []
        limit = sorted(plain["probabilities"])[2]
        answer = predictor.predict_json({**request, "min_probability": limit})
        assert answer == {**plain, "uncertain": answer["uncertain"]}
        assert len(answer["uncertain"]) == 2
        assert all(plain["probabilities"][index] < limit for index in answer["uncertain"])
        assert "uncertain" not in predictor_of(pos_archive).predict_json(request)
        assert json.loads(json.dumps(answer)) == answer

    def test_uncertain_words_need_json(self, predictor_of, pos_archive):
        with pytest.raises(ConfigurationError, match="expected output_format json, .* got conllu"):
            predictor_of(pos_archive, min_probability=0.5, output_format="conllu")
        with pytest.raises(ConfigurationError, match="min_probability: expected a number from 0"):
            predictor_of(pos_archive, min_probability=1.5)
