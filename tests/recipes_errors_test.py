"""The errors that recipes/synthetic_errors.py makes, and how recipes/critical_errors.py counts them."""

import importlib
import json
import random

import pytest

pytestmark = pytest.mark.usefixtures("benchmarks")

PAIRS = [
    ("The 12 houses in Berlin are not old.", "Die 12 Häuser in Berlin sind nicht alt."),
    ("Anna bought a small car in May.", "Anna kaufte im Mai ein kleines Auto."),
    ("He never sleeps before midnight.", "Er schläft nie vor Mitternacht."),
    ("Water boils at 100 degrees.", "Wasser kocht bei 100 Grad."),
]


@pytest.fixture
def pairs_run(tmp_path, monkeypatch):
    """A run of `synthetic_errors.py pairs` on the pairs, as a function of the seed and the folder."""
    from synthetic_errors import main

    files = [tmp_path / "sentences.en", tmp_path / "sentences.de"]
    for side, file in enumerate(files):
        file.write_text("".join(f"{pair[side]}\n" for pair in PAIRS), encoding="utf-8")

    def run(seed, folder):
        output = tmp_path / folder
        arguments = ["pairs", "en-de", *map(str, files), "--output", str(output), "--seed", seed]
        monkeypatch.setattr("sys.argv", ["synthetic_errors.py", *arguments])
        main()
        return {path.name: path.read_text("utf-8") for path in output.iterdir()}

    return run


def test_the_same_seed_gives_the_same_files(pairs_run):
    first = pairs_run("1", "first")
    assert [*sorted(first)] == ["de-en.errors.jsonl", "en-de.errors.jsonl"]
    assert pairs_run("1", "second") == first
    assert pairs_run("2", "third") != first


def test_lines_are_training_data_with_a_tag_for_each_word_and_gap(pairs_run):
    for text in pairs_run("1", "data").values():
        for row in map(json.loads, text.splitlines()):
            assert len(row["tags"]) == 2 * len(row["target"]) + 1
            assert ("BAD" in row["tags"]) == (row["kinds"] != ["intact"])
            assert (row["hter"] > 0) == (row["kinds"] != ["intact"])


def test_tags_must_fit_the_translation(tmp_path, monkeypatch):
    from synthetic_errors import main

    lines = {"src": "a b", "mt": "A B", "pe": "A C", "tags": "OK BAD", "hter": "0.5"}
    for part, line in lines.items():
        (tmp_path / f"train.{part}").write_text(f"{line}\n")
    arguments = ["mlqe", "en-de", f"{tmp_path}/train", "--output", f"{tmp_path}/out"]
    monkeypatch.setattr("sys.argv", ["synthetic_errors.py", *arguments])
    with pytest.raises(SystemExit, match=r"train\.tags:1: "):
        main()


@pytest.mark.parametrize(
    "arguments",
    [
        ["synthetic_errors", "pairs", "en-de", "sentences.en", "--output", "out"],
        ["synthetic_errors", "mlqe", "ende", "train", "--output", "out"],
        ["synthetic_errors", "mlqe", "en-en", "train", "--output", "out"],
        ["synthetic_errors", "mlqe", "en-de", "train", "--output", "out", "--errors", "-1"],
        ["critical_errors", "qe-multilingual"],
    ],
)
def test_arguments_that_do_not_fit_end_with_status_2(arguments, monkeypatch):
    monkeypatch.setattr("sys.argv", arguments)
    with pytest.raises(SystemExit) as error:
        importlib.import_module(arguments[0]).main()
    assert error.value.code == 2


@pytest.mark.parametrize("kind", ["number", "negation", "omission", "untranslated", "spelling"])
def test_an_error_changes_one_place(kind):
    from synthetic_errors import ERRORS, Language, Translation

    sides = [pair[0].split() for pair in PAIRS], [pair[1].split() for pair in PAIRS]
    language = Language("de", sides[1])
    for seed in range(20):
        intact = Translation.correct(sides[0][0], sides[1][0])
        changed = ERRORS[kind][1](intact, language, random.Random(seed))
        assert changed is not None and changed.words != intact.words
        kept = [word for word, tag in zip(changed.words, changed.tags[1::2]) if tag == "OK"]
        rest = iter(intact.words)
        assert all(word in rest for word in kept)  # in their order
        assert changed.tags.count("BAD") == max(1, len(changed.words) - len(kept))
        assert 0 < changed.edits <= 4


def test_a_number_keeps_its_script():
    from synthetic_errors import _other_number

    for seed in range(20):
        changed = _other_number("१९८७", random.Random(seed))
        assert changed != "१९८७" and all("०" <= digit <= "९" for digit in changed)


def test_a_part_of_the_edits_lies_between_translation_and_post_edit():
    pytest.importorskip("sacrebleu")
    from synthetic_errors import partial_edit

    mt, post_edit = [*"abcde"], [*"axcef"]
    texts = {" ".join(partial_edit(mt, post_edit, random.Random(seed))) for seed in range(50)}
    assert {"a b c d e", "a x c e f"} < texts  # none and all of them, and others
    assert all({*text.split()} <= {*mt, *post_edit} for text in texts)


def test_the_table_of_an_estimator(pairs_run, archive_path, tmp_path, monkeypatch, capsys):
    from critical_errors import main

    pairs_run("1", "data")
    files = map(str, sorted((tmp_path / "data").iterdir()))
    arguments = ["critical_errors.py", str(archive_path), "--pairs", *files]
    monkeypatch.setattr("sys.argv", arguments)
    capsys.readouterr()
    main()
    first, header, _, *rows = capsys.readouterr().out.splitlines()
    assert first.startswith("threshold 0.") and "have a mark" in first
    assert header.startswith("| damage | number | worse | high |")
    assert all(row.count("|") == 9 and "%" in row for row in rows)
    assert rows[-1].startswith("| mean of all |")


def test_the_changed_words_of_a_damage():
    from critical_errors import changes, is_marked

    intact, damaged = [*"abcde"], [*"abdef"]
    assert changes(intact, damaged) == ([2, 5], [2, 4])
    answer = {"bad_probabilities": [0.1, 0.1, 0.7, 0.1, 0.1, 0.2]}
    assert is_marked(answer, [2, 4], 0.5) and not is_marked(answer, [0, 9], 0.5)
