"""The sentences of a dataset reader, in one form for all formats."""

from collections.abc import Callable
from typing import Any, NamedTuple

from allennlp_nef.data.dataset_readers import (
    ConllTagsReader,
    ConlluTagsReader,
    ConlluTreesReader,
    LabeledSentencesReader,
    LabeledTreesReader,
    SentencePairsReader,
    TaggingReader,
    WmtWordQeReader,
)
from allennlp_nef.data.formats.data_paths import DataPath, name_of
from allennlp_nef.data.formats.wmt_layouts import tagged_side, without_eos
from allennlp_nef.data.formats.wmt_word_qe import find_example_files, span_files
from allennlp_nef.data.metadata import metadata_of


class Sentence(NamedTuple):
    """What is checked of a sentence."""

    place: str
    """`file:line`, or the path where the line is not known."""
    tokens: list[str]
    """What is tagged or labeled; of a pair, the first sentence."""
    others: list[str] | None
    """In quality estimation, the words of the other side; of a pair, the second sentence."""
    words: dict[str, list[str]]
    """The words as they came: "words", or "target" and "source", or "first" and "second"."""
    tags: list[str] | None
    """As the model gets them: of words, arcs or nodes, or the one label or score; None where it is unlabeled."""
    chunk_tags: list[str] | None = None
    """As the file has them, where they are those of chunks."""
    unaligned: int | None = None
    """The number of target words without an alignment, where there are alignments."""


def files_of(reader: TaggingReader, path: DataPath) -> list[str]:
    """The files of a data path."""
    if isinstance(reader, WmtWordQeReader):
        files = span_files(path) or find_example_files(path)
        return list(map(str, files.values()))
    return [name_of(path)]


View = Callable[[Any], Sentence]
"""The sentence of an example of the reader."""


def view_of(reader: TaggingReader, path: DataPath) -> View:
    """How to see the examples that a reader has of a data path."""
    if isinstance(reader, ConllTagsReader):
        return lambda example: _of_columns(reader, str(path), *example)
    if isinstance(reader, ConlluTagsReader):
        return lambda example: _of_conllu(str(path), *example)
    if isinstance(reader, ConlluTreesReader):
        return lambda example: _of_dependencies(str(path), *example)
    if isinstance(reader, WmtWordQeReader):
        files = span_files(path) or find_example_files(path)
        file = str(files.get("spans") or files["target"])
        return lambda example: _of_word_qe(reader, file, example)
    if isinstance(reader, LabeledSentencesReader):
        return lambda example: _of_labeled(*example)
    if isinstance(reader, LabeledTreesReader):
        return lambda example: _of_tree(path, *example)
    if isinstance(reader, SentencePairsReader):
        return lambda example: _of_pair(reader, *example)
    return lambda example: _of_instance(reader, path, example)


def _of_columns(
    reader: ConllTagsReader, path: str, sentence: Any, tags: list[str] | None
) -> Sentence:
    words = [row[reader.word_column] for row in sentence.rows]
    given = None if reader.tag_scheme is None else reader.given_tags(sentence)
    return Sentence(f"{path}:{sentence.lines[0]}", words, None, {"words": words}, tags, given)


def _of_conllu(path: str, sentence: Any, tags: list[str] | None) -> Sentence:
    words = sentence.column("form")
    return Sentence(f"{path}:{sentence.lines[0]}", words, None, {"words": words}, tags)


def _of_dependencies(path: str, sentence: Any, tree: Any) -> Sentence:
    return _of_conllu(path, sentence, None if tree is None else tree.labels)


def _of_word_qe(reader: WmtWordQeReader, file: str, example: Any) -> Sentence:
    words = without_eos(example.target)
    tokens, others, _ = tagged_side(reader.tagged, example.source, example.target, ())
    unaligned = None
    if example.alignments is not None:
        unaligned = len(words) - len({j for _, j in example.alignments})
    return Sentence(
        f"{file}:{example.line}",
        tokens,
        others,
        {"target": words, "source": example.source},
        example.tags_of(reader.tagged),
        unaligned=unaligned,
    )


def _of_labeled(path: DataPath, sentence: Any) -> Sentence:
    words = sentence.words
    return Sentence(f"{path}:{sentence.line}", words, None, {"words": words}, [sentence.label])


def _of_tree(path: DataPath, line: int, tree: Any) -> Sentence:
    return Sentence(f"{path}:{line}", tree.words, None, {"words": tree.words}, tree.labels)


def _of_pair(reader: SentencePairsReader, path: DataPath, pair: Any, _: Any) -> Sentence:
    gold = getattr(pair, reader.gold)
    words = {"first": pair.first, "second": pair.second}
    tags = None if gold is None else [str(gold)]
    return Sentence(f"{path}:{pair.line}", pair.first, pair.second, words, tags)


def _of_instance(reader: TaggingReader, path: DataPath, example: Any) -> Sentence:
    """For readers of other packages: by way of the instance, which takes longer."""
    metadata = metadata_of(reader.to_instance(example))
    words = {"words": metadata.tokens}
    return Sentence(name_of(path), metadata.tokens, metadata.source, words, metadata.tags)
