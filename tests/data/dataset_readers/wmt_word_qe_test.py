import pickle
import resource
from dataclasses import replace

import pytest
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Vocabulary
from allennlp.data.data_loaders import MultiProcessDataLoader, SimpleDataLoader

from allennlp_nef.data import WmtWordQeReader
from allennlp_nef.data.aligners import learn_aligner, save_aligner
from allennlp_nef.data.metadata import TaggingMetadata
from tests.data.aligners_test import pairs_of
from tests.data.dataset_readers.reader_files import write_word_qe


def test_instance_has_both_sides_alignments_and_tags(tmp_path):
    reader = DatasetReader.from_params(Params({"type": "wmt_word_qe"}))
    assert isinstance(reader, WmtWordQeReader)
    instances = list(reader.read(write_word_qe(tmp_path, [3, 2, 4])))
    second = instances[1]
    assert set(second.fields) == {"source", "target", "alignments", "tags", "metadata"}
    assert [token.text for token in second["source"]] == ["s1_0", "s1_1", "s1_2"]
    assert [token.text for token in second["target"]] == ["w1_0", "w1_1"]
    assert second["tags"].labels == ["BAD", "OK"]
    assert second["alignments"].tensor.tolist() == [[False, True, False], [False, False, False]]
    assert second["metadata"].metadata == TaggingMetadata(
        tokens=["w1_0", "w1_1"],
        source=["s1_0", "s1_1", "s1_2"],
        tags=["BAD", "OK"],
        alignments=[(1, 0)],
        alignments_from="given",
        text="w1_0 w1_1",
    )


def test_options_are_used(tmp_path):
    params = {
        "type": "wmt_word_qe",
        "source_token_indexers": {"s": {"type": "single_id", "namespace": "a"}},
        "target_token_indexers": {"t": {"type": "single_id", "namespace": "b"}},
        "label_namespace": "qe_labels",
    }
    reader = DatasetReader.from_params(Params(params))
    instances = list(reader.read(write_word_qe(tmp_path, [2])))
    vocab = Vocabulary.from_instances(instances)
    assert vocab.get_vocab_size("a") == 3 + 2
    assert vocab.get_vocab_size("b") == 2 + 2
    assert vocab.get_vocab_size("qe_labels") == 2
    batch = next(iter(SimpleDataLoader(instances, 1, vocab=vocab)))
    assert (set(batch["source"]), set(batch["target"])) == ({"s"}, {"t"})


@pytest.mark.parametrize(
    "options, tokens, tags, others, links",
    [
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
    ],
)
def test_tokens_are_what_is_tagged(tmp_path, options, tokens, tags, others, links):
    files = {
        "src": "a b c",
        "mt": "A B",
        "tags": "OK BAD BAD OK OK",
        "source_tags": "OK BAD OK",
        "align": "0-1 2-0",
    }
    for ending, line in files.items():
        (tmp_path / f"x.{ending}").write_text(line + "\n")
    reader = WmtWordQeReader(word_similarity=True, max_tokens=3, **options)
    (instance,) = reader.read(str(tmp_path / "x"))
    assert [token.text for token in instance["target"]] == tokens.split()
    assert [token.text for token in instance["source"]] == others.split()
    assert instance["tags"].labels == tags.split()
    assert instance["alignments"].tensor.nonzero().tolist() == links
    metadata = instance["metadata"].metadata
    assert (metadata.tokens, metadata.source) == (tokens.split(), ["a", "b", "c"])
    assert (metadata.target, metadata.tagged) == (["A", "B"], reader.tagged)
    assert metadata.alignments == [(0, 1), (2, 0)]
    # The same from Python.
    again = reader.text_to_instance(["a", "b", "c"], ["A", "B"], [(0, 1), (2, 0)], tags.split())
    assert again["alignments"].tensor.equal(instance["alignments"].tensor)
    assert again["metadata"].metadata == replace(metadata, text=None)  # that of the file


def test_max_tokens_counts_words(tmp_path):
    prefix = write_word_qe(tmp_path, [2, 3])
    (tmp_path / "x.source_tags").write_text("OK OK OK\nOK OK OK OK\n")
    for options, limit in (
        ({"tagged": "gaps"}, 2),
        ({"tagged": "target_and_gaps"}, 2),
        ({"eos": True}, 2),
        ({"tagged": "source"}, 3),
    ):
        assert len(list(WmtWordQeReader(max_tokens=limit, **options).read(prefix))) == 1


def test_aligner_does_not_see_eos(aligner_path):
    for eos in (True, False):
        reader = WmtWordQeReader(aligner=str(aligner_path), eos=eos)
        without = reader.text_to_instance(["the", "dog", "."], ["der", "Hund", "."])
        instance = reader.text_to_instance(["the", "dog", "."], ["der", "Hund", ".", "<EOS>"])
        assert instance["metadata"].metadata.tokens == ["der", "Hund", ".", "<EOS>"]
        links, expected = (each["metadata"].metadata.alignments for each in (instance, without))
        assert links == expected and len(links) > 1


@pytest.mark.parametrize(
    "options, message",
    [
        (
            {"tagged": "words"},
            "tagged: expected target, gaps, target_and_gaps, source, got 'words'",
        ),
        ({"tagged": "gaps", "eos": True}, "eos: expected tagged \"target\" with it, got 'gaps'"),
        (
            {"tagged": "source", "severities": True},
            "severities: expected tagged \"target\" with it, got 'source'",
        ),
        ({"eos": 1}, "eos: expected true or false, got 1"),
    ],
)
def test_wrong_options_are_an_error(options, message):
    with pytest.raises(ConfigurationError) as info:
        WmtWordQeReader(**options)
    assert str(info.value) == message


def test_sentence_scores_are_a_field_on_request(tmp_path):
    path = write_word_qe(tmp_path, [3, 2])
    (tmp_path / "x.hter").write_text("0.25\n0\n")
    assert all("sentence_score" not in each.fields for each in WmtWordQeReader().read(path))
    reader = WmtWordQeReader(sentence_scores=True)
    instances = list(reader.read(path))
    vocab = Vocabulary.from_instances(instances)
    for each in instances:
        reader.apply_token_indexers(each)
    batch = next(iter(SimpleDataLoader(instances, 2, vocab=vocab)))
    assert batch["sentence_score"].tolist() == [0.25, 0]
    # A tensor in a pickle would be an open file.
    assert b"torch" not in pickle.dumps(instances[0]["sentence_score"])
    assert pickle.loads(pickle.dumps(instances[0]["sentence_score"])).tensor == 0.25
    (tmp_path / "x.hter").unlink()
    assert all("sentence_score" not in each.fields for each in reader.read(path))


def test_text_to_instance_takes_words_and_perhaps_alignments_and_tags():
    reader = WmtWordQeReader()
    instance = reader.text_to_instance(["a", "b"], ["A"], [[1, 0]], ["BAD"])
    assert instance["alignments"].tensor.tolist() == [[False, True]]
    assert instance["tags"].labels == ["BAD"]
    bare = reader.text_to_instance(["a", "b"], ["A"])
    assert bare["metadata"].metadata.alignments_from == "none"
    assert bare["alignments"].tensor.tolist() == [[False, False]]
    assert "tags" not in bare.fields


@pytest.mark.parametrize(
    "arguments, message",
    [
        (([], ["A"]), "source: expected a list of words, got []"),
        ((["a"], []), "target: expected a list of words, got []"),
        ((["a"], ["A"], [(0, 1)]), "alignments: expected target indices from 0 to 0, got 1 in 0-1"),
        ((["a"], ["A"], [0]), "alignments: expected pairs (source index, target index), got 0"),
        ((["a"], ["A"], None, []), "tags: expected 1 tags (one a target word), got 0"),
        ((["<EOS>"], ["A"]), "source: expected no <EOS> in the source, got it as word 1"),
        ((["a"], ["A"], None, ["O"]), "tags: expected OK or BAD, got 'O' as tag 1"),
    ],
)
def test_text_to_instance_refuses_bad_parts(arguments, message):
    with pytest.raises(ValueError) as info:
        WmtWordQeReader().text_to_instance(*arguments)
    assert str(info.value) == message


def test_workers_give_more_instances_than_open_files(tmp_path):
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    prefix = write_word_qe(tmp_path, [1] * 300)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, limits[1]))
    try:
        loader = MultiProcessDataLoader(
            WmtWordQeReader(), prefix, batch_size=8, num_workers=1, quiet=True
        )
        assert len(list(loader.iter_instances())) == 300
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@pytest.fixture(scope="module")
def aligner_path(root, tmp_path_factory):
    path = tmp_path_factory.mktemp("aligner") / "aligner.json.gz"
    save_aligner(learn_aligner(pairs_of(root / "fixtures" / "qe" / "train", 60)), str(path))
    return path


class TestAligner:
    @staticmethod
    def reader(options, **extras):
        return DatasetReader.from_params(Params({"type": "wmt_word_qe", **options}), **extras)

    @staticmethod
    def read(reader, prefix):
        metadata = [instance["metadata"].metadata for instance in reader.read(prefix)]
        return [(each.alignments_from, each.alignments) for each in metadata]

    def test_files_without_alignments_are_aligned(self, aligner_path, tmp_path, caplog):
        prefix = write_word_qe(tmp_path, [1, 2])
        (links,) = tmp_path.glob("*.alignments")
        reader = self.reader({"aligner": str(aligner_path)})
        assert [origin for origin, _ in self.read(reader, prefix)] == ["given"] * 2
        links.write_text("\n\n")
        assert self.read(reader, prefix) == [("given", [])] * 2
        links.unlink()
        caplog.clear()
        found = self.read(reader, prefix)
        assert [origin for origin, _ in found] == ["computed"] * 2
        words = [next(reader.read(prefix))["metadata"].metadata]
        assert found[0][1] == reader.aligner.align(words[0].source, words[0].tokens)
        assert caplog.messages[0].endswith("words are aligned by the model's aligner.")
        assert [o for o, _ in self.read(self.reader({}), prefix)] == ["none"] * 2
        assert caplog.messages[-1].endswith("every target word counts as unaligned.")

    def test_words_of_other_languages_give_one_warning(self, aligner_path, root, caplog):
        lines = [
            (root / f"fixtures/qe/dev.{side}").read_text().split("\n") for side in ("src", "mt")
        ]
        pairs = [(source.split(), target.split()) for source, target in zip(*lines)][:60]
        right, wrong = (self.reader({"aligner": str(aligner_path)}) for _ in range(2))
        caplog.clear()
        for source, target in pairs:
            right.text_to_instance(source, target)
        assert caplog.messages == []
        for source, target in pairs:
            wrong.text_to_instance(target, source)
        (message,) = caplog.messages
        assert "are they of the languages that the model was trained on?" in message

    def test_matrix_has_the_links_that_were_computed(self, aligner_path):
        reader = self.reader({"aligner": str(aligner_path)})
        instance = reader.text_to_instance(["1984", "."], ["1984", "."])
        assert instance["alignments"].tensor.tolist() == [[True, False], [False, True]]
        assert instance["metadata"].metadata.alignments == [(0, 0), (1, 1)]
        given = reader.text_to_instance(["1984", "."], ["1984", "."], [])
        assert given["metadata"].metadata.alignments_from == "given"
        assert not given["alignments"].tensor.any()

    @pytest.mark.parametrize(
        "options, extras, has_aligner",
        [
            ({}, {}, True),
            ({"aligner": True}, {}, True),
            ({"aligner": False}, {}, False),
            ({"aligner": "where/it/was/in/training"}, {}, True),
            # A training names its folder, too: a run that is recovered reads as it did before.
            ({}, {"local_rank": 0}, False),
        ],
    )
    def test_reader_of_an_archive_gets_its_aligner(
        self, aligner_path, options, extras, has_aligner
    ):
        reader = self.reader(options, serialization_dir=str(aligner_path.parent), **extras)
        assert (reader.aligner is not None) == has_aligner

    def test_missing_and_wrong_files_are_refused(self, tmp_path):
        with pytest.raises(ConfigurationError, match="aligner: none: expected the file of an"):
            WmtWordQeReader(aligner="none")
        (tmp_path / "aligner.json.gz").write_text("x")
        with pytest.raises(ConfigurationError, match="gz: expected gzipped JSON, got another"):
            self.reader({}, serialization_dir=str(tmp_path))
