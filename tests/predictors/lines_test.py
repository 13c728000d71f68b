"""Lines that are requests: those that cannot be answered (`on_error`), those of plain text, and the field `id`."""

import json
import re

import pytest
from allennlp.common.checks import ConfigurationError

GOOD = [
    {"source": "the red house", "target": "das rote Haus", "alignments": "0-0 1-1 2-2"},
    {"source": "a cup", "target": ["eine", "Tasse"]},
    {"source": "often", "target": "oft"},
]
NO_TARGET = "target: expected a string or a list of words, got no such field"
# Lines between the good requests, and the beginning of their message.
BAD = [
    ('{"source": "a"}', NO_TARGET),
    ("not JSON", 'expected a JSON object on one line, got "not JSON"'),
    ("[1]", "expected an object with the fields source and target, got [1]"),
    (
        '{"source": "a", "target": "b", "alignments": "0-7"}',
        "alignments: expected target indices from 0 to 0, got 7 in 0-7",
    ),
    ("[" * 100_000, "expected a JSON object on one line, got "),
]


@pytest.fixture
def lines():
    """Good and bad lines in turn, among blank ones; and the number of each bad one, from 1, with its message."""
    lines, messages = [], {}
    for i, (line, message) in enumerate(BAD):
        lines += [json.dumps(GOOD[i % 3]), line]
        messages[len(lines)] = f"request {len(lines)}: {message}"
    return lines, messages


def check(answers, messages, expected):
    """Errors are in the places of bad lines; the other answers are those that are expected."""
    assert len(answers) == 2 * len(BAD)
    for number, answer in enumerate(answers, 1):
        if number in messages:
            assert set(answer) == {"error"}
            assert answer["error"].startswith(messages[number])
        else:
            other = expected[(number - 1) // 2 % 3]
            assert answer["tags"] == other["tags"]
            assert answer["bad_probabilities"] == pytest.approx(
                other["bad_probabilities"], abs=1e-5
            )


def test_skipped_lines_are_answered_with_an_error_in_their_place(
    allennlp, archive_path, word_qe, lines, tmp_path, caplog
):
    path, output = tmp_path / "requests.jsonl", tmp_path / "answers.jsonl"
    path.write_text("\n\n".join(lines[0]) + "\n \n")
    allennlp(
        *("predict", archive_path, path, "--output-file", output, "--batch-size", 3),
        *("--predictor-args", '{"on_error": "skip"}', "--silent"),
    )
    answers = [json.loads(line) for line in output.read_text().splitlines()]
    check(answers, lines[1], [word_qe().predict_json(request) for request in GOOD])
    warnings = [r.getMessage() for r in caplog.records if "skipped" in r.getMessage()]
    assert [text.split(" (skipped, ")[1] for text in warnings] == [
        f"{n} so far)" for n in range(1, len(BAD) + 1)
    ]
    assert [text.split(": ")[0] for text in warnings] == [f"request {n}" for n in lines[1]]


def test_request_that_fails_in_the_model_does_not_take_its_neighbors_along(
    word_qe, monkeypatch, caplog
):
    predictor = word_qe(on_error="skip")
    expected = [word_qe().predict_json(request) for request in GOOD]
    forward = predictor._model.forward_on_instances

    def fail(instances):
        if any(instance["metadata"].metadata.tokens == ["eine", "Tasse"] for instance in instances):
            raise RuntimeError("no such word\n")
        return forward(instances)

    monkeypatch.setattr(predictor._model, "forward_on_instances", fail)
    loaded = [predictor.load_line(json.dumps(request)) for request in GOOD]
    first, second, third = predictor.predict_batch_json(loaded)
    assert second == {"error": "request 2: RuntimeError: no such word"}
    assert predictor.predict_json(loaded[1]) == second
    for answer, other in ((first, expected[0]), (third, expected[2])):
        assert answer["bad_probabilities"] == pytest.approx(other["bad_probabilities"], abs=1e-5)
    assert caplog.messages[-1] == "request 2: RuntimeError: no such word (skipped, 2 so far)"
    # A default predictor fails as the model does.
    with pytest.raises(RuntimeError, match="no such word"):
        word_qe().predict_batch_json(GOOD)


def test_lines_beyond_the_limits_of_a_list_are_answered_one_by_one(word_qe):
    predictor = word_qe(on_error="skip", max_batch=2)
    loaded = [predictor.load_line(json.dumps(request)) for request in GOOD]
    assert all("tags" in answer for answer in predictor.predict_batch_json(loaded))


def test_default_stops_at_the_first_bad_line(word_qe, lines):
    predictor = word_qe()
    predictor.load_line(lines[0][0])
    for line, message in BAD:
        with pytest.raises(ValueError, match=f"^request [2-6]: {re.escape(message)}.*$") as caught:
            predictor.load_line(line)
        assert len(str(caught.value)) < 300


def test_requests_that_are_no_lines_are_refused_as_ever(word_qe):
    predictor = word_qe(on_error="skip")
    with pytest.raises(ValueError, match=f"^{NO_TARGET}$"):
        predictor.predict_json({"source": "a"})
    with pytest.raises(ValueError, match=f"^item 1: {NO_TARGET}$"):
        predictor.predict_batch_json([GOOD[0], {"source": "a"}])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"on_error": "ignore"}, "on_error: expected stop or skip, got 'ignore'"),
        ({"on_error": None}, "on_error: expected stop or skip, got None"),
        ({"on_error": "skip", "output_format": "tags"}, "on_error: expected output_format json, "),
    ],
)
def test_wrong_options_are_errors(word_qe, options, message):
    with pytest.raises(ConfigurationError, match=f"^{message}"):
        word_qe(**options)


class TestPlainText:
    LINES = "\ufeffMarlow left Lisbon.\r\n\n  Anna\u00a0met \ufeffPaul (in 10:30).\n"

    @pytest.fixture
    def tagged(self, allennlp, ner_archive, tmp_path):
        """`tagged(**options)`: the output of `predict` for the lines."""

        def tagged(**options):
            path, output = tmp_path / "text.txt", tmp_path / "output"
            path.write_bytes(self.LINES.encode())
            allennlp(
                *("predict", ner_archive, path, "--silent", "--output-file", output),
                *("--predictor-args", json.dumps({"input_format": "text", **options})),
            )
            return output.read_text(encoding="utf-8")

        return tagged

    def test_a_line_is_a_sentence_whose_words_have_offsets(self, tagged):
        first, second = map(json.loads, tagged().splitlines())
        assert first["tokens"] == ["Marlow", "left", "Lisbon", "."]
        assert first["offsets"] == [[0, 6], [7, 11], [12, 18], [18, 19]]
        assert second["tokens"] == ["Anna", "met", "\ufeffPaul", "(", "in", "10:30", ")", "."]
        text = self.LINES.split("\n")[2]
        assert [text[start:end] for start, end in second["offsets"]] == second["tokens"]
        assert second["spans"] and second["spans"][0]["text"] == "Anna"

    def test_another_tokenizer_and_another_output_format_can_be_chosen(self, tagged):
        text = tagged(tokenizer="whitespace", output_format="conll")
        words = [line.split(" ")[0] for line in text.splitlines()]
        assert words == [
            *["Marlow", "left", "Lisbon."],
            "",
            *["Anna", "met", "\ufeffPaul", "(in", "10:30)."],
            "",
        ]

    def test_sentences_in_json_and_in_python_are_split_by_the_tokenizer_that_is_asked_for(
        self, predictor_of, ner_archive
    ):
        default = predictor_of(ner_archive)
        assert default.predict("in Lisbon.")["tokens"] == ["in", "Lisbon."]
        assert "offsets" not in default.predict(["in", "Lisbon."])
        predictor = predictor_of(ner_archive, tokenizer={"type": "punctuation"})
        for answer in (
            predictor.predict("in Lisbon."),
            predictor.predict_json(predictor.load_line('{"sentence": "in Lisbon."}')),
        ):
            assert answer["tokens"] == ["in", "Lisbon", "."]
            assert answer["offsets"] == [[0, 2], [3, 9], [9, 10]]

    def test_text_where_json_is_expected_names_the_option(self, predictor_of, ner_archive, word_qe):
        with pytest.raises(
            ValueError, match=r"expected a JSON object on one line, got \"Marlow left"
        ) as error:
            predictor_of(ner_archive).load_line("Marlow left Lisbon.\n")
        option = """--predictor-args '{"input_format": "text"}'"""
        assert str(error.value).endswith(f"; for lines of plain text: {option}")
        with pytest.raises(ValueError, match="request 1: expected a JSON object") as error:
            word_qe().load_line("Marlow left Lisbon.")
        assert "input_format" not in str(error.value)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"input_format": "txt"}, "input_format: expected json or text, got 'txt'"),
            (
                {"tokenizer": "os.system"},
                "tokenizer: expected one of .*, punctuation, .* got 'os.sys",
            ),
            ({"tokenizer": 1}, "tokenizer: expected one of "),
        ],
    )
    def test_wrong_options_are_errors(self, predictor_of, ner_archive, options, message):
        with pytest.raises(ConfigurationError, match=f"^{message}"):
            predictor_of(ner_archive, **options)

    def test_pairs_are_no_lines_of_text(self, word_qe):
        with pytest.raises(
            ConfigurationError, match="input_format: expected json, as a request needs so"
        ):
            word_qe(input_format="text")


class TestId:
    @pytest.mark.parametrize("own_id", ["a", 0, {"b": [1]}])
    def test_answers_begin_with_the_id_of_their_request(self, word_qe, own_id):
        predictor = word_qe()
        expected = predictor.predict_json(GOOD[0])
        request = {**GOOD[0], "id": own_id}
        first, second = predictor.predict_batch_json([request, GOOD[0]])
        assert next(iter(first.items())) == ("id", own_id)
        assert "id" not in second
        assert predictor.predict_json(request) == {"id": own_id, **expected}
        assert "id" not in predictor.predict_json({**GOOD[0], "id": None})

    @pytest.mark.parametrize("value", ["NaN", "[Infinity]", '{"a": -1e999}'])
    def test_numbers_that_json_lacks_are_no_id(self, word_qe, value):
        predictor = word_qe()
        with pytest.raises(ValueError, match="^request 1: id: expected a JSON value, got "):
            predictor.load_line(f'{{"source": "a", "target": "b", "id": {value}}}')

    def test_skipped_lines_keep_theirs(self, word_qe):
        predictor = word_qe(on_error="skip")
        lines = ('{"id": 7, "source": "a"}', json.dumps({"id": 8, **GOOD[0]}), '{"source": "a"}')
        bad, good, without = predictor.predict_batch_json(
            [predictor.load_line(line) for line in lines]
        )
        assert bad == {"id": 7, "error": f"request 1: {NO_TARGET}"}
        assert good["id"] == 8
        assert set(without) == {"error"}

    def test_skipped_lines_are_json(self, word_qe):
        predictor = word_qe(on_error="skip")
        line = predictor.load_line('{"source": "a", "target": "b", "id": [Infinity]}')
        (answer,) = predictor.predict_batch_json([line])
        assert set(answer) == {"error"}
