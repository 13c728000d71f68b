"""The reader `wmt_word_qe`: fields, options, raw text, its aligner, worker processes."""

import resource

import pytest
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Vocabulary
from allennlp.data.data_loaders import MultiProcessDataLoader, SimpleDataLoader

from allennlp_nef.data.fields import NO_LABEL
from allennlp_nef.errors import DataFormatError
from allennlp_nef.qe.aligner import SAME, SAME_PREFIX, learn_aligner, save_aligner
from allennlp_nef.qe.reader import WmtWordQeReader
from allennlp_nef.qe.spans import token_offsets
from tests.data.reader_files import make, warnings_of, words_of
from tests.qe.aligner_test import pairs_of
from tests.qe.qe_files import DEVELOPMENT, FIXTURES, SHARED, development_row, good_files, write

MLQE_PE = SHARED / "data" / "qe" / "mlqe-pe-en-de"
SPLIT = {"source_tokenizer": "letters_digits", "target_tokenizer": "letters_digits"}


def read(path, **options):
    """The records of the instances."""
    instances = make("wmt_word_qe", **options).read(str(path))
    return [instance["metadata"].metadata for instance in instances]


def test_instance_has_both_sides_alignments_and_tags(tmp_path):
    reader = make("wmt_word_qe")
    assert isinstance(reader, WmtWordQeReader)
    second = list(reader.read(write(tmp_path, good_files())))[1]
    assert set(second.fields) == {"source", "target", "alignments", "tags", "metadata"}
    assert words_of(second, "source") == ["c", "d", "e"]
    assert words_of(second, "target") == ["C", "D"]
    assert second["tags"].labels == ["OK", "BAD"]
    assert second["alignments"].tensor.tolist() == [[False, False, True], [True, False, False]]
    pair = second["metadata"].metadata
    assert (pair.source.words, pair.tokens) == (["c", "d", "e"], ["C", "D"])
    assert (pair.target.text, pair.target.offsets) == ("C D", None)
    assert (pair.links, pair.links_from) == ([(2, 0), (0, 1)], "given")
    assert (pair.tags, pair.place) == (["OK", "BAD"], f"{tmp_path}/x.mt:2")


def test_options_of_indexers_and_labels(tmp_path):
    reader = make(
        "wmt_word_qe",
        source_token_indexers={"s": {"type": "single_id", "namespace": "a"}},
        target_token_indexers={"t": {"type": "single_id", "namespace": "b"}},
        label_namespace="qe_labels",
    )
    instances = list(reader.read(write(tmp_path, good_files())))
    vocab = Vocabulary.from_instances(instances)
    assert vocab.get_vocab_size("a") == 6 + 2
    assert vocab.get_vocab_size("b") == 5 + 2
    assert vocab.get_vocab_size("qe_labels") == 2
    batch = next(iter(SimpleDataLoader(instances, 1, vocab=vocab)))
    assert (set(batch["source"]), set(batch["target"])) == ({"s"}, {"t"})


TAGGED = [
    ({"tagged": "gaps"}, "A B <EOS>", "OK BAD OK", "a b c", [[0, 2], [1, 0]]),
    (
        {"tagged": "target_and_gaps"},
        "<gap> A <gap> B <gap>",
        "OK BAD BAD OK OK",
        "a b c",
        [[0, 2], [1, 2], [2, 0], [2, 2], [3, 0], [4, 0]],
    ),
    ({"tagged": "source"}, "a b c", "OK BAD OK", "A B", [[0, 1], [2, 0]]),
    ({"eos": True}, "A B <EOS>", "BAD BAD OK", "a b c", [[0, 2], [1, 0]]),
]


@pytest.mark.parametrize("options, tokens, tags, others, links", TAGGED)
def test_tokens_are_what_is_tagged(tmp_path, options, tokens, tags, others, links):
    files = {"src": "a b c\n", "mt": "A B\n", "tags": "OK BAD BAD OK OK\n"}
    path = write(tmp_path, {**files, "source_tags": "OK BAD OK\n", "align": "0-1 2-0\n"})
    reader = make("wmt_word_qe", word_similarity=True, max_tokens=3, **options)
    (instance,) = reader.read(path)
    assert words_of(instance, "target") == tokens.split()
    assert words_of(instance, "source") == others.split()
    assert instance["tags"].labels == tags.split()
    assert instance["alignments"].tensor.nonzero().tolist() == links
    pair = instance["metadata"].metadata
    assert (pair.tokens, pair.tags) == (tokens.split(), tags.split())
    assert (pair.source.words, pair.target.words) == (["a", "b", "c"], ["A", "B"])
    assert pair.links == [(0, 1), (2, 0)]
    # The same from Python.
    again = reader.text_to_instance(["a", "b", "c"], ["A", "B"], [(0, 1), (2, 0)], tags.split())
    assert again["alignments"].tensor.equal(instance["alignments"].tensor)
    other = again["metadata"].metadata
    assert (other.tokens, other.tags, other.links) == (pair.tokens, pair.tags, pair.links)


@pytest.mark.parametrize(
    "options, limit",
    [
        ({}, 2),
        ({"tagged": "gaps"}, 2),
        ({"tagged": "target_and_gaps"}, 2),
        ({"eos": True}, 2),
        ({"tagged": "source"}, 3),
    ],
)
def test_max_tokens_counts_words(tmp_path, options, limit):
    files = {"src": "a b c\na b c d\n", "mt": "A B\nA B C\n"}
    path = write(tmp_path, files)
    assert len(read(path, max_tokens=limit, **options)) == 1


@pytest.mark.parametrize(
    "options",
    [
        {"tagged": "words"},
        {"tagged": "gaps", "eos": True},
        {"tagged": "source", "severities": True},
        {"encoding": "utf-16"},
    ],
)
def test_wrong_options_are_an_error(options):
    with pytest.raises(ConfigurationError):
        make("wmt_word_qe", **options)


def test_word_similarity_tells_same_words_and_prefixes():
    reader = WmtWordQeReader(word_similarity=True)
    source, target = ["House", "of", "Information", "1984"], ["house", "informiert", "OF", "198"]
    instance = reader.text_to_instance(source, target)
    assert instance["similarity"].tensor.tolist() == [
        [SAME, 0, 0, 0],
        [0, 0, SAME_PREFIX, 0],
        [0, SAME, 0, 0],
        [0, 0, 0, 0],
    ]


def test_sentence_scores_are_a_field_on_request(tmp_path):
    path = write(tmp_path, {**good_files(), "hter": "0.25\n0\n1.5\n"})
    assert all("sentence_scores" not in each.fields for each in make("wmt_word_qe").read(path))
    instances = list(make("wmt_word_qe", sentence_scores=True).read(path))
    vocab = Vocabulary.from_instances(instances)
    batch = next(iter(SimpleDataLoader(instances, 3, vocab=vocab)))
    assert batch["sentence_scores"][:, 0].tolist() == [0.25, 0, 1.5]
    assert batch["sentence_scores"][:, 1:].isnan().all()


def test_sentences_with_tags_or_judgments_alone_share_batches(tmp_path, write_text):
    path = write_text("judged.tsv", "1\ta\tA B\t[0, 1, 1]\tERR\n")
    reader = make("wmt_word_qe", sentence_scores=True)
    instances = [*reader.read([write(tmp_path, good_files()), path])]
    vocab = Vocabulary.from_instances(instances)
    batch = next(iter(SimpleDataLoader(instances, 4, vocab=vocab)))
    assert batch["sentence_scores"].isnan().sum() == 11
    assert batch["sentence_scores"][3, 2].item() == pytest.approx(2 / 3)
    assert batch["tags"][3].tolist() == [NO_LABEL] * 2 and (batch["tags"][0] >= 0).all()


def test_workers_give_more_instances_than_open_files(tmp_path):
    path = write(tmp_path, {"src": "a b\n" * 300, "mt": "A B\n" * 300, "align": "0-0\n" * 300})
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, limits[1]))
    try:
        loader = MultiProcessDataLoader(
            WmtWordQeReader(), path, batch_size=8, num_workers=1, quiet=True
        )
        assert len(list(loader.iter_instances())) == 300
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


class TestRawText:
    @pytest.fixture
    def spans(self, tmp_path):
        path = tmp_path / "a.tsv"
        row = development_row("yes, no", "ja\u200b, nein.", "2 9\t3 10\tminor major")
        path.write_text(DEVELOPMENT + row, encoding="utf-8")
        return path

    def test_each_tokenizer_is_for_its_side(self, spans):
        (sentence,) = read(spans, source_tokenizer="letters_digits")
        assert (sentence.source.words, sentence.tokens) == (
            ["yes", ",", "no"],
            ["ja\u200b,", "nein."],
        )
        (sentence,) = read(spans, target_tokenizer="letters_digits", severities=True)
        assert (sentence.source.words, sentence.tokens[0]) == (["yes,", "no"], "ja")
        assert sentence.tags == ["OK", "minor", "OK", "OK", "major"]
        assert sentence.spans == [(2, 3, "minor"), (9, 10, "major")]
        assert sentence.document == "d"

    def test_files_without_tags_and_alignments_are_tokenized(self, tmp_path):
        path = write(tmp_path, {"src": "it's so\n", "mt": "so  ist's\n"})
        (sentence,) = read(path, **SPLIT)
        assert (sentence.source.words, sentence.tokens) == (
            ["it", "'", "s", "so"],
            ["so", "ist", "'", "s"],
        )
        assert (sentence.target.text, sentence.target.offsets[1]) == ("so  ist's", (4, 7))
        (sentence,) = read(path)
        assert sentence.tokens == ["so", "ist's"]
        assert token_offsets(sentence.tokens, sentence.target)[1] == [(0, 2), (4, 9)]

    @pytest.mark.parametrize(
        "ending, line", [("tags", "OK BAD"), ("align", "0-0"), ("source_tags", "OK OK")]
    )
    def test_words_of_labeled_files_are_between_whitespace(self, tmp_path, ending, line):
        path = write(tmp_path, {"src": "it's so\n", "mt": "so  ist's\n", ending: line + "\n"})
        (sentence,) = read(path, **SPLIT)
        assert (sentence.source.words, sentence.tokens) == (["it's", "so"], ["so", "ist's"])
        assert (sentence.target.text, sentence.target.offsets) == ("so  ist's", None)

    def test_eos_of_a_text_is_one_word_for_any_tokenizer(self, tmp_path):
        path = write(tmp_path, {"src": "it\nit\n", "mt": "ist's. <EOS> \nist's.\n"})
        first, second = read(path, eos=True, **SPLIT)
        assert first.tokens == second.tokens == ["ist", "'", "s", ".", "<EOS>"]
        assert first.target.offsets[-1] == (7, 12)
        assert token_offsets(second.tokens, second.target)[1][-1] == (6, 6)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """The file of a small aligner."""
    path = tmp_path_factory.mktemp("aligner") / "aligner.json.gz"
    save_aligner(learn_aligner(pairs_of(FIXTURES / "train", 60)), str(path))
    return path


def test_sentences_with_spans_outside_of_their_texts_are_skipped_on_request(write_text, caplog):
    outside = development_row(spans="0\t99\tmajor")
    path = write_text("a.tsv", DEVELOPMENT + outside + development_row() + outside)
    with pytest.raises(DataFormatError, match=f"{path}:2: "):
        read(path)
    (metadata,) = read(path, aligner=False, skip_invalid_spans=True)
    assert metadata.tags == ["OK", "BAD", "BAD"]
    (warning,) = warnings_of(caplog)
    assert "2 of 3" in warning


class TestAligner:
    def test_files_without_alignments_are_aligned(self, path, tmp_path, caplog):
        prefix = write(tmp_path, good_files())
        (links,) = tmp_path.glob("*.alignments")
        assert [each.links_from for each in read(prefix, aligner=str(path))] == ["given"] * 3
        links.write_text("\n\n\n")
        empty = read(prefix, aligner=str(path))
        assert [(each.links_from, each.links) for each in empty] == [("given", [])] * 3
        links.unlink()
        reader = make("wmt_word_qe", aligner=str(path))
        for instance in reader.read(prefix):
            metadata = instance["metadata"].metadata
            assert metadata.links_from == "computed"
            words = metadata.source.words, metadata.tokens
            assert metadata.links == reader.aligner.align(*words)
        assert warnings_of(caplog) == []
        assert [each.links_from for each in read(prefix)] == ["none"] * 3
        assert len(warnings_of(caplog)) == 1

    @pytest.mark.parametrize("eos", [True, False])
    def test_aligner_does_not_see_eos(self, path, eos):
        reader = WmtWordQeReader(aligner=str(path), eos=eos)
        source, target = ["the", "dog", "."], ["der", "Hund", "."]
        without = reader.text_to_instance(source, target)["metadata"].metadata
        metadata = reader.text_to_instance(source, [*target, "<EOS>"])["metadata"].metadata
        assert metadata.tokens == ["der", "Hund", ".", "<EOS>"]
        assert metadata.links == without.links == [(0, 0), (1, 1), (2, 2)]

    @pytest.mark.parametrize(
        "options, extras, has_aligner",
        [
            ({}, {}, True),
            ({"aligner": True}, {}, True),
            ({"aligner": False}, {}, False),
            ({"aligner": "where/it/was/in/training"}, {}, True),
            # A training also names its folder: a run that is recovered reads as it did before.
            ({}, {"local_rank": 0}, False),
        ],
    )
    def test_reader_of_an_archive_gets_its_aligner(self, path, options, extras, has_aligner):
        params = Params({"type": "wmt_word_qe", **options})
        reader = DatasetReader.from_params(params, serialization_dir=str(path.parent), **extras)
        assert (reader.aligner is not None) == has_aligner


@pytest.mark.skipif(not MLQE_PE.is_dir(), reason="needs ../shared")
def test_last_gap_of_mlqe_pe_is_the_tag_of_eos():
    """WMT22 published the same sentences with n+1 tags."""
    official = {
        "source": str(MLQE_PE / "dev.src"),
        "target": str(MLQE_PE / "wmt22" / "dev.word_level.2022.mt"),
        "tags": str(MLQE_PE / "wmt22" / "dev.word_level.2022.tags"),
    }
    instances = make("wmt_word_qe").read(official)
    for sentence, instance in zip(read(MLQE_PE / "dev", eos=True), instances, strict=True):
        metadata = instance["metadata"].metadata
        assert (sentence.tokens, sentence.tags) == (metadata.tokens, metadata.tags)
