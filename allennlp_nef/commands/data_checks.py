"""What `check-data` finds in the files of a task."""

import argparse
import codecs
import json
import logging
import pickle
import random
import sys
import tracemalloc
import unicodedata
from collections import Counter, defaultdict
from collections import Counter as Counts
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from math import ceil
from typing import Any, NamedTuple

from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import BatchSampler, DatasetReader, Vocabulary

from allennlp_nef.commands.configs import config_of, overridden
from allennlp_nef.data.dataset_readers import (
    ConllTagsReader,
    ConlluTagsReader,
    ConlluTreesReader,
    LabeledSentencesReader,
    LabeledTreesReader,
    SentencePairsReader,
    TaggingReader,
    UntaggedReader,
    WmtWordQeReader,
)
from allennlp_nef.data.formats.characters import is_odd, name_of_character
from allennlp_nef.data.formats.chunks import chunks_of, is_allowed, split_tag
from allennlp_nef.data.formats.data_paths import DataPath, name_of
from allennlp_nef.data.formats.text_files import read_bytes
from allennlp_nef.data.formats.wmt_layouts import tagged_side, without_eos
from allennlp_nef.data.formats.wmt_word_qe import find_example_files, span_files
from allennlp_nef.data.metadata import metadata_of
from allennlp_nef.errors import (
    DataCheckError,
    DataFormatError,
    FileError,
    UserError,
    quote,
    summary_of,
)


class _Step(NamedTuple):
    """What a tag is after the tag before it."""

    begins_with_i: bool
    """Whether it continues a chunk of its type, where there is none."""
    has_needless_b: bool
    """Whether it is a B that IOB1 would not have."""
    breaks_bioul: bool
    is_bioul: bool


class ChunkChecks:
    """Finds the scheme of chunk tags as they stand in their files, and the tags that do not fit it.

    - BIOUL (also BIOES): some tag begins with L, U, E or S. A tag does not fit where `is_allowed` says so.
    - IOB1: chunks begin with I, and with B only after another chunk of their type. All sequences of these fit.
    - BIO: else. A chunk that begins with I does not fit.
    """

    def __init__(self) -> None:
        self.count = 0
        """Chunks, as `conlleval` counts them."""
        self._counts = [0] * len(_Step._fields)
        self._first: list[str | None] = [None] * len(_Step._fields)

    def add(self, tags: list[str], place: str) -> None:
        """Counts the tags of a sentence."""
        self.count += len(chunks_of(tags))
        for before, tag in zip(["O", *tags], [*tags, None]):
            for i, found in enumerate(_step(before, tag)):
                if found:
                    self._counts[i] += 1
                    self._first[i] = self._first[i] or place

    def as_json(self) -> dict[str, Any]:
        """The scheme, the number of chunks, and how many tags do not fit, with the first sentence of these."""
        counts, first = _Step(*self._counts), _Step(*self._first)  # type: ignore[arg-type]
        if counts.is_bioul:
            scheme, count, place = "BIOUL", int(counts.breaks_bioul), first.breaks_bioul
        elif counts.begins_with_i and not counts.has_needless_b:
            scheme, count, place = "IOB1", 0, None
        else:
            scheme, count, place = "BIO", int(counts.begins_with_i), first.begins_with_i
        return {"scheme": scheme, "count": self.count, "ill_formed": count, "first": place}


@lru_cache(maxsize=2**14)
def _step(before: str, tag: str | None) -> _Step:
    """A tag after another; None after the last."""
    prefix, kind = split_tag(tag or "O")
    begins = bool(kind) and kind != split_tag(before)[1]
    return _Step(
        begins and prefix in "ILE",
        begins and prefix == "B",
        not is_allowed(before, tag, "BIOUL"),
        prefix in "LUES",
    )


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


QUANTILES = {"median": 0.5, "quantile_90": 0.9, "quantile_99": 0.99}


class Statistics:
    """The statistics of a split: the training, validation or test data."""

    def __init__(self) -> None:
        self.lengths: list[int] = []
        """The tokens of each sentence."""
        self.other_lengths: list[int] = []
        """In quality estimation, the words of the other side."""
        self.longest = 0
        self.longest_place: str | None = None
        self.labeled = 0
        """Sentences with labels."""
        self.labels: Counts[str] = Counter()
        self.words: dict[str, Counts[str]] = {}
        """By side."""
        self.chunks = ChunkChecks()
        self.target_words = self.unaligned_words = self.sentences_with_alignments = 0
        self.not_nfc = 0
        """Sentences with words that are not in NFC."""
        self.odd: dict[str, list[Any]] = {}
        """Of each odd character its number, and where it is first."""
        self.repeated = self.contradictory = 0
        """Sentences that occurred before in the split; those of them with other labels."""
        self.keys: dict[int, int] = {}
        """The hash of the labels by the hash of the sentence, of the first such sentence."""
        self.source_keys: set[int] = set()
        self._order: list[int] = []
        self._labels: list[int] = []
        self._sources: list[int] = []

    def add(self, sentence: Sentence) -> None:
        """Counts a sentence."""
        length = len(sentence.tokens)
        self.lengths.append(length)
        if sentence.others is not None:
            self.other_lengths.append(len(sentence.others))
        if length > self.longest:
            self.longest, self.longest_place = length, sentence.place
        if sentence.tags is not None:
            self.labeled += 1
            self.labels.update(sentence.tags)
        if sentence.chunk_tags is not None:
            self.chunks.add(sentence.chunk_tags, sentence.place)
        for side, words in sentence.words.items():
            self.words.setdefault(side, Counter()).update(words)
            self._add_characters(words, sentence.place)
        if sentence.unaligned is not None:
            self.sentences_with_alignments += 1
            self.target_words += len(sentence.words["target"])
            self.unaligned_words += sentence.unaligned
        self._add_key(sentence)

    def _add_characters(self, words: list[str], place: str) -> None:
        text = " ".join(words)
        if text.isascii():
            return
        self.not_nfc += not unicodedata.is_normalized("NFC", text)
        for character in filter(is_odd, set(text)):
            name = name_of_character(character)
            entry = self.odd.setdefault(name, [0, place])
            entry[0] += text.count(character)

    def _add_key(self, sentence: Sentence) -> None:
        key = hash(tuple(tuple(words) for words in sentence.words.values()))
        labels = hash(None if sentence.tags is None else tuple(sentence.tags))
        if key in self.keys:
            self.repeated += 1
            self.contradictory += self.keys[key] != labels
        else:
            self.keys[key] = labels
        self._order.append(key)
        self._labels.append(labels)
        if "source" in sentence.words:
            self._sources.append(hash(tuple(sentence.words["source"])))
            self.source_keys.add(self._sources[-1])

    def overlap(self, other: "Statistics") -> dict[str, Any]:
        """The sentences that also occur in another split, with other labels there, or only with their source."""
        found: dict[str, Any] = {"sentences": 0, "contradictory": 0}
        tokens = 0
        for key, labels, length in zip(self._order, self._labels, self.lengths):
            if key in other.keys:
                found["sentences"] += 1
                found["contradictory"] += other.keys[key] != labels
                tokens += length
        found["share_of_tokens"] = tokens / max(1, sum(self.lengths))
        if self._sources:
            found["sources"] = sum(key in other.source_keys for key in self._sources)
        return found

    def unseen(self, training: "Statistics") -> dict[str, dict[str, Any]]:
        """By side, the words that the training data lack: as a share of all words, and of the different words."""
        result = {}
        for side, words in self.words.items():
            known = training.words.get(side, Counter())
            unseen = {word: count for word, count in words.items() if word not in known}
            result[side] = {
                "words": sum(unseen.values()) / max(1, sum(words.values())),
                "different_words": len(unseen) / max(1, len(words)),
            }
        return result

    def as_json(self) -> dict[str, Any]:
        """The statistics that need no other split."""
        lengths = sorted(self.lengths) or [0]
        total = sum(self.labels.values())
        result: dict[str, Any] = {
            "sentences": len(self.lengths),
            "labeled_sentences": self.labeled,
            "tokens": sum(self.lengths),
            "lengths": {
                "mean": sum(lengths) / len(lengths),
                **{name: lengths[int(q * (len(lengths) - 1))] for name, q in QUANTILES.items()},
                "longest": self.longest,
                "longest_place": self.longest_place,
            },
            "words": {
                side: {"words": sum(words.values()), "different_words": len(words)}
                for side, words in self.words.items()
            },
            "labels": {label: count / total for label, count in self.labels.most_common()},
            "repeated": {"sentences": self.repeated, "contradictory": self.contradictory},
            "odd_characters": {
                name: {"count": count, "first": place}
                for name, (count, place) in sorted(self.odd.items())
            },
            "sentences_not_in_nfc": self.not_nfc,
        }
        if self.chunks.count:
            result["chunks"] = self.chunks.as_json()
        if self.sentences_with_alignments:
            result["unaligned_words"] = self.unaligned_words / max(1, self.target_words)
        return result


NAMES = ("train", "validation", "test")


class Split(NamedTuple):
    """The training, validation or test data."""

    name: str
    """One of `NAMES`."""
    path: DataPath
    reader: TaggingReader


def splits_of(args: argparse.Namespace) -> tuple[dict[str, Any], list[Split]]:
    """
    The config, and the data that it or the options name.

    # Raises

    `UserError`: neither a config nor a reader, or both; no data; a reader of another package.
    """
    if (args.config is None) == (args.reader is None):
        got = "neither" if args.config is None else "both"
        raise UserError(f"expected either a config or --reader, got {got}")
    given = {name: _path(getattr(args, name)) for name in NAMES if getattr(args, name)}
    if args.config is None:
        config = overridden({"dataset_reader": {"type": args.reader}}, args.overrides)
    else:
        config = config_of(args.config, args.overrides)
    paths = {name: given.get(name, config.get(f"{name}_data_path")) for name in NAMES}
    splits = [
        Split(name, path, _reader(config, is_training=name == "train"))
        for name, path in paths.items()
        if path
    ]
    for split in splits:
        if isinstance(split.path, dict) and not isinstance(split.reader, WmtWordQeReader):
            raise UserError(f"{split.name}: expected the path of a file, got {quote(split.path)}")
    if not splits:
        raise UserError("expected data (--train, --dev or --test), got none")
    return config, splits


def _path(text: str) -> DataPath:
    """A path, or the paths of parts as a JSON object."""
    try:
        paths = json.loads(text)
    except (RecursionError, ValueError):
        return text
    return paths if isinstance(paths, dict) else text


def _reader(config: dict[str, Any], is_training: bool) -> TaggingReader:
    name = "dataset_reader"
    if not is_training and config.get(f"validation_{name}"):
        name = f"validation_{name}"
    params = config.get(name)
    if not isinstance(params, dict):
        raise UserError(f"{name}: expected an object with the type of a reader, got {params!r}")
    try:
        kind, _ = DatasetReader.resolve_class_name(str(params.get("type")))
        if not (isinstance(kind, type) and issubclass(kind, TaggingReader)):
            raise UserError(
                f"{name}: expected a reader of tagged sentences, such as conll_tags, got {params['type']}"
            )
        reader: Any = DatasetReader.from_params(Params(dict(params)))
        return reader
    except ConfigurationError as error:
        raise UserError(f"{name}: {summary_of(error)}") from error


SAMPLE = 500
"""The examples of a split whose instances are measured."""
BYTES_A_WORD = 200
"""Of a different word, besides its text: the token that instances share."""
Used = tuple[TaggingReader, Statistics, list[int], list[Any]]
"""The reader of a split, its sentences, the numbers of those that a training takes, and examples of some."""


class Lengths(NamedTuple):
    """Stands for an instance where a sampler asks for the lengths of its fields."""

    fields: dict[str, range]


def training_needs(config: Mapping[str, Any], used: Mapping[str, Used]) -> dict[str, Any]:
    """
    What a training on these splits needs.

    # Returns

    `steps`: that of `steps_of`; None without training data. `memory`: the bytes of the instances of the training and
    validation data, which are all in memory unless `max_instances_in_memory` says otherwise.
    """
    total = 0.0
    words: set[str] = set()
    for reader, statistics, numbers, sample in used.values():
        if not sample:
            continue
        limit = (config.get("data_loader") or {}).get("max_instances_in_memory") or len(numbers)
        total += _bytes_of_instances(reader, sample) * min(limit, len(numbers))
        words.update(*statistics.words.values())
    total += sum(map(sys.getsizeof, words)) + BYTES_A_WORD * len(words)
    steps = None
    if "train" in used:
        reader, statistics, numbers, _ = used["train"]
        lengths = [_lengths(reader, statistics, number) for number in numbers]
        steps = steps_of(config, lengths)
    return {"steps": steps, "memory": round(total)}


def _lengths(reader: TaggingReader, statistics: Statistics, number: int) -> Lengths:
    lengths = [range(statistics.lengths[number])]
    if statistics.other_lengths:
        lengths.append(range(statistics.other_lengths[number]))
    if isinstance(reader, UntaggedReader):
        return Lengths(dict(zip(reader.text_fields, lengths)))
    return Lengths(dict(zip(("target", "source") if len(lengths) == 2 else ("tokens",), lengths)))


def steps_of(config: Mapping[str, Any], sentences: Sequence[Lengths]) -> dict[str, Any] | None:
    """
    The batches and steps of a training, by the data loader of its config; None where there is none.

    # Returns

    `batches`: those of an epoch, in each process. `padding`: the share of padding in their words. `epochs`. `steps`:
    the updates of the weights in all epochs; early stopping makes them fewer.
    """
    loader, trainer = config.get("data_loader") or {}, config.get("trainer") or {}
    distributed = config.get("distributed") or {}
    processes = len(distributed.get("cuda_devices") or [0]) * distributed.get("num_nodes", 1)
    groups = _batches(loader, sentences[::processes], config.get("random_seed", 13370))
    if groups is None:
        return None
    padded = filled = 0
    for group in groups:
        for fields in zip(*(each.fields.values() for each in group)):
            lengths = list(map(len, fields))
            padded += max(lengths) * len(lengths)
            filled += sum(lengths)
    batches = min(len(groups), loader.get("batches_per_epoch") or len(groups))
    epochs = trainer.get("num_epochs", 20)
    updates = ceil(batches / trainer.get("num_gradient_accumulation_steps", 1))
    return {
        "batches": batches,
        "padding": 1 - filled / max(1, padded),
        "epochs": epochs,
        "steps": updates * epochs,
    }


def _batches(
    loader: Mapping[str, Any], sentences: Sequence[Lengths], seed: int
) -> list[list[Lengths]] | None:
    """The batches of an epoch; None where the loader has neither a sampler nor a batch size."""
    state = random.getstate()
    random.seed(seed)
    try:
        if loader.get("batch_sampler"):
            sampler: Any = BatchSampler.from_params(Params(dict(loader["batch_sampler"])))
            return [[sentences[i] for i in each] for each in sampler.get_batch_indices(sentences)]
        size = loader.get("batch_size")
        if not size:
            return None
        order = list(sentences)
        if loader.get("shuffle"):
            random.shuffle(order)
        end = len(order) - len(order) % size if loader.get("drop_last") else len(order)
        return [order[i : i + size] for i in range(0, end, size)]
    finally:
        random.setstate(state)


def _bytes_of_instances(reader: TaggingReader, examples: Sequence[Any]) -> float:
    """
    The mean memory of the instances of some examples, with their indices.

    The tokens of words, which instances share, do not count: the instances are made twice, and the second time is
    measured. Their examples are copied first, as instances keep parts of them.
    """

    def make() -> list[Any]:
        instances = [reader.to_instance(pickle.loads(pickle.dumps(each))) for each in examples]
        for instance in instances:
            reader.apply_token_indexers(instance)
        return instances

    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for instance in make():
        instance.count_vocab_items(counts)
    vocab = Vocabulary(counts)
    tracemalloc.start()
    try:
        instances = make()
        for instance in instances:
            instance.index_fields(vocab)
        return tracemalloc.get_traced_memory()[0] / len(instances)
    finally:
        tracemalloc.stop()


MAX_LABELS = 20
"""The most frequent labels, which are shown."""
Data = dict[str, dict[str, Any]]
Row = tuple[str, list[str | None]]
"""A title and a value for each split; None where there is none."""


def as_text(results: dict[str, Any]) -> str:
    """The report: a table with a column for each split, then what is in no table."""
    data = results["data"]
    rows = [("", list(data)), *_rows(data)]
    lines = [*_table(rows), ""]
    if any(split["labels"] for split in data.values()):
        lines += [*_table(_labels(data)), ""]
    for name, split in data.items():
        lines += [
            f"{name}: {_quoted_path(split['path'])}",
            *(f"  {line}" for line in _notes(split)),
            "",
        ]
    used = [name for name in ("train", "validation") if name in data]
    return "\n".join([*lines, *_needs(results["training"], used)]).rstrip()


def _table(rows: Sequence[Row]) -> list[str]:
    """Lines of aligned columns, without the rows that have no value."""
    rows = [row for row in rows if any(value is not None for value in row[1])]
    title = max(len(name) for name, _ in rows)
    width = max(len(value or "") for _, values in rows for value in values) + 2
    return [
        f"{name:<{title}}" + "".join(f"{value or '-':>{width}}" for value in values)
        for name, values in rows
    ]


def _rows(data: Data) -> Iterator[Row]:
    def row(title: str, value: Callable[[dict[str, Any]], str | None]) -> Row:
        return title, [value(split) for split in data.values()]

    yield row("sentences", lambda split: _number(split["sentences"]))
    if any(split["left_out_sentences"] for split in data.values()):
        yield row("  too long for training", lambda split: _number(split["left_out_sentences"]))
    yield row("tokens", lambda split: _number(split["tokens"]))
    yield row("tokens a sentence: mean", lambda split: f"{split['lengths']['mean']:.1f}")
    for title, name in (
        ("median", "median"),
        ("90%", "quantile_90"),
        ("99%", "quantile_99"),
        ("longest", "longest"),
    ):
        yield row(f"  {title}", lambda split, name=name: _number(split["lengths"][name]))  # type: ignore[misc]
    sides = list(dict.fromkeys(side for split in data.values() for side in split["words"]))
    for side in sides:
        name = "words" if side == "words" else f"{side} words"
        counts = [split["words"].get(side, {}) for split in data.values()]
        unseen = [split.get("unseen", {}).get(side, {}) for split in data.values()]
        yield f"different {name}", [_number(each.get("different_words")) for each in counts]
        yield "  not in train", [_share(each.get("different_words")) for each in unseen]
        yield f"{name} not in train", [_share(each.get("words")) for each in unseen]
    yield row("words without alignment", lambda split: _share(split.get("unaligned_words")))
    yield row("chunks", lambda split: _number(split.get("chunks", {}).get("count")))
    yield row("  ill-formed", lambda split: _number(split.get("chunks", {}).get("ill_formed")))
    yield from _repeated(data)
    yield row("errors", lambda split: _number(split["errors"]["count"]))


def _repeated(data: Data) -> Iterator[Row]:
    """Sentences that occur again: in their split, and in those before it."""
    found = [("that occur again", [split["repeated"] for split in data.values()])]
    for other in data:
        found.append((f"also in {other}", [split["overlap"].get(other) for split in data.values()]))
    for title, counts in found:
        for name, text, shown in (
            ("sentences", f"sentences {title}", _number),
            ("share_of_tokens", "  share of all tokens", _share),
            ("contradictory", "  with other labels", _number),
            ("sources", f"source sentences {title}", _number),
        ):
            yield text, [shown((count or {}).get(name)) for count in counts]


def _labels(data: Data) -> list[Row]:
    """The share of each label, the most frequent ones of the first split first."""
    names = list(dict.fromkeys(label for split in data.values() for label in split["labels"]))
    rows: list[Row] = [(f"labels: {len(names)}", list(data))]
    for name in names[:MAX_LABELS]:
        rows.append((f"  {name}", [_share(split["labels"].get(name)) for split in data.values()]))
    if len(names) > MAX_LABELS:
        rest = names[MAX_LABELS:]
        shares = [sum(split["labels"].get(name, 0) for name in rest) for split in data.values()]
        rows.append((f"  {len(rest)} others", [_share(share) for share in shares]))
    return rows


def _notes(split: dict[str, Any]) -> Iterator[str]:
    """What is in no table of a split."""
    for file in split["files"]:
        marks = [
            text
            for name, text in (
                ("byte_order_mark", "a byte order mark"),
                ("crlf", "lines that end in CRLF"),
            )
            if file[name]
        ]
        if marks:
            yield f"{file['path']} has {' and '.join(marks)}"
    if split["lengths"]["longest_place"]:
        yield f"longest sentence: {split['lengths']['longest_place']}"
    missing = split["sentences"] - split["labeled_sentences"]
    if missing:
        yield f"unlabeled sentences: {missing:,}"
    if split.get("unseen_labels"):
        labels = split["unseen_labels"]
        shown = ", ".join(
            f"{label} ({count:,})" for label, count in list(labels.items())[:MAX_LABELS]
        )
        yield f"labels that train lacks: {len(labels):,}: {shown}{', ...' if len(labels) > MAX_LABELS else ''}"
    if "chunks" in split:
        chunks = split["chunks"]
        first = (
            f"; tags that do not fit it: {chunks['ill_formed']:,}, the first in {chunks['first']}"
        )
        yield f"chunk tags: {chunks['scheme']}{first if chunks['ill_formed'] else ''}"
    for name, odd in split["odd_characters"].items():
        yield f"{name}: {odd['count']:,}, the first in {odd['first']}"
    if split["sentences_not_in_nfc"]:
        yield f"sentences with letters that are not in NFC: {split['sentences_not_in_nfc']:,}"
    for warning in split["warnings"]:
        yield f"warning: {warning}"
    errors = split["errors"]
    for error in errors["first"]:
        yield f"error: {error}"
    if errors["count"] > len(errors["first"]):
        yield f"errors that are not shown (see --max-errors): {errors['count'] - len(errors['first']):,}"


def _needs(training: dict[str, Any], used: Sequence[str]) -> Iterator[str]:
    steps = training["steps"]
    if steps:
        yield (
            f"training: {steps['batches']:,} batches an epoch with {steps['padding']:.1%} of padding; "
            f"{steps['epochs']:,} epochs are {steps['steps']:,} steps"
        )
    if used:
        yield f"memory of the instances of {' and '.join(used)}: about {training['memory'] / 2**20:,.0f} MiB"


def _quoted_path(path: Any) -> str:
    return ", ".join(map(str, path.values())) if isinstance(path, dict) else str(path)


def _number(value: int | None) -> str | None:
    return None if value is None else f"{value:,}"


def _share(value: float | None) -> str | None:
    return None if value is None else f"{value:.2%}"


_LOGGER = "allennlp_nef.data"


class Errors:
    """The errors of a split."""

    def __init__(self, limit: int) -> None:
        self.count = 0
        self.first: list[str] = []
        """At most `limit`."""
        self._limit = limit

    def add(self, error: DataFormatError) -> None:
        """Counts an error."""
        self.count += 1
        if self.count <= self._limit:
            self.first.append(str(error))


class Found(NamedTuple):
    """What was read of a split."""

    split: Split
    statistics: Statistics
    used: list[int]
    """The numbers of the sentences that a training takes, from 0."""
    sample: list[Any]
    """Examples of some of these."""
    errors: Errors
    warnings: list[str]


def check_data(args: argparse.Namespace) -> Iterator[str]:
    """
    Yields the report.

    # Raises

    `UserError`: a wrong option or config, a file that is missing. `DataCheckError`, after the report: errors in data.
    """
    config, splits = splits_of(args)
    found = [_read(split, args.max_errors) for split in splits]
    results = _results(config, found)
    yield json.dumps(results, indent=2) if args.json else as_text(results)
    number = sum(each.errors.count for each in found)
    if number:
        raise DataCheckError(
            f"expected data without errors, got {number} error{'s' * (number > 1)}"
        )


def _read(split: Split, max_errors: int) -> Found:
    reader, errors, statistics = split.reader, Errors(max_errors), Statistics()
    used: list[int] = []
    sample: list[Any] = []
    draw = random.Random(0)
    reader.on_error = errors.add
    with _warnings() as warnings:
        view = view_of(reader, split.path)
        try:
            for number, example in enumerate(reader.examples(split.path)):  # type: ignore[arg-type]
                if len(used) == reader.max_instances:
                    break
                statistics.add(view(example))
                if reader.is_too_long(example):
                    continue
                used.append(number)
                if len(sample) < SAMPLE:
                    sample.append(example)
                elif draw.random() * len(used) < SAMPLE:
                    sample[draw.randrange(SAMPLE)] = example
        except FileError:
            raise
        except DataFormatError as error:  # after which there is nothing to go on with
            errors.add(error)
    return Found(split, statistics, used, sample, errors, warnings)


def _facts(path: str) -> dict[str, Any]:
    """What the bytes of a file say before they are decoded."""
    data = read_bytes(path)
    return {
        "path": path,
        "bytes": len(data),
        "byte_order_mark": data.startswith(codecs.BOM_UTF8),
        "crlf": b"\r\n" in data,
    }


@contextmanager
def _warnings() -> Iterator[list[str]]:
    """The messages that readers log meanwhile, for the report in place of the log."""

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            messages.append(record.getMessage())

    messages: list[str] = []
    logger, handler = logging.getLogger(_LOGGER), Handler(logging.WARNING)
    propagate, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    try:
        yield messages
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagate


def _results(config: dict[str, Any], found: list[Found]) -> dict[str, Any]:
    training = next((each.statistics for each in found if each.split.name == "train"), None)
    data = {
        each.split.name: {
            "path": each.split.path,
            "files": [_facts(file) for file in files_of(each.split.reader, each.split.path)],
            **each.statistics.as_json(),
            "left_out_sentences": len(each.statistics.lengths) - len(each.used),
            **_unseen(each.statistics, training),
            "overlap": {
                other.split.name: each.statistics.overlap(other.statistics)
                for other in found[:number]
            },
            "warnings": each.warnings,
            "errors": {"count": each.errors.count, "first": each.errors.first},
        }
        for number, each in enumerate(found)
    }
    used = {
        each.split.name: (each.split.reader, each.statistics, each.used, each.sample)
        for each in found
        if each.split.name != "test"
    }
    return {"data": data, "training": training_needs(config, used)}


def _unseen(statistics: Statistics, training: Statistics | None) -> dict[str, Any]:
    """What the training data lack; nothing for the training data themselves."""
    if training is None or training is statistics:
        return {}
    labels = statistics.labels.most_common() if training.labels else ()
    return {
        "unseen": statistics.unseen(training),
        "unseen_labels": {label: count for label, count in labels if label not in training.labels},
    }
