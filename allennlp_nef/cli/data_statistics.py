"""What `check-data` finds in the files of a task: statistics of each split, and what a training needs."""

import codecs
import json
import logging
import pickle
import random
import sys
import tracemalloc
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from math import ceil
from typing import Any, NamedTuple

from allennlp.common import Params, Registrable
from allennlp.common.checks import ConfigurationError
from allennlp.data import BatchSampler, DataLoader, DatasetReader, Vocabulary
from allennlp.training import Trainer

from allennlp_nef.cli.configs import config_of, overridden
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
from allennlp_nef.errors import DataFormatError, FileError, UserError, quote, summary_of
from allennlp_nef.training import MaxPiecesBatchSampler

NAMES = ("train", "validation", "test")
SAMPLE = 500
"""The examples of a split whose instances are measured."""
BYTES_A_WORD = 200
"""Of a different word, besides its text: the token that instances share."""


class ChunkChecks:
    """Finds the scheme of chunk tags as they stand in their files, and the tags that do not fit it.

    - BIOUL (also BIOES): some tag begins with L, U, E or S. A tag does not fit where `is_allowed` says so.
    - IOB1: chunks begin with I, and with B only after another chunk of their type. All sequences of these fit.
    - BIO: else. A chunk that begins with I does not fit.
    """

    def __init__(self) -> None:
        self.count = 0
        """Chunks, as `conlleval` counts them."""
        self._counts: Counter[str] = Counter()
        self._first: dict[str, str] = {}

    def add(self, tags: list[str], place: str) -> None:
        """Counts the tags of a sentence."""
        self.count += len(chunks_of(tags))
        for before, tag in zip(["O", *tags], [*tags, None]):
            for fact in _facts_of_step(before, tag):
                self._counts[fact] += 1
                self._first.setdefault(fact, place)

    def as_json(self) -> dict[str, Any]:
        """The scheme, the number of chunks, and how many tags do not fit, with the first sentence of these."""
        scheme, fact = "BIO", "begins with I"
        if self._counts["is BIOUL"]:
            scheme, fact = "BIOUL", "breaks BIOUL"
        elif self._counts["begins with I"] and not self._counts["needless B"]:
            scheme, fact = "IOB1", ""
        return {
            "scheme": scheme,
            "count": self.count,
            "ill_formed": self._counts[fact],
            "first": self._first.get(fact),
        }


@lru_cache(maxsize=2**14)
def _facts_of_step(before: str, tag: str | None) -> list[str]:
    """What is so of a tag after another; None after the last."""
    prefix, kind = split_tag(tag or "O")
    begins = bool(kind) and kind != split_tag(before)[1]
    facts = {
        "begins with I": begins and prefix in "ILE",  # a chunk that is not open
        "needless B": begins and prefix == "B",  # IOB1 would not have it
        "breaks BIOUL": not is_allowed(before, tag, "BIOUL"),
        "is BIOUL": prefix in "LUES",
    }
    return [fact for fact, is_so in facts.items() if is_so]


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
        return list(map(str, _word_qe_files(path).values()))
    return [name_of(path)]


def _word_qe_files(path: DataPath) -> Mapping[str, Any]:
    return span_files(path) or find_example_files(path)


def sentences_of(reader: TaggingReader, path: DataPath) -> Iterator[tuple[Any, Sentence]]:
    """The examples of a data path, each as the reader has it and as it is checked."""
    file = name_of(path)
    if isinstance(reader, WmtWordQeReader):
        files = _word_qe_files(path)
        file = str(files.get("spans") or files["target"])
    for example in reader.examples(path):  # type: ignore[arg-type]
        yield example, _checked_view(reader, file, example)


def _checked_view(reader: TaggingReader, file: str, example: Any) -> Sentence:
    if isinstance(reader, WmtWordQeReader):
        tokens, others, _ = tagged_side(reader.tagged, example.source, example.target, ())
        words = {"target": without_eos(example.target), "source": example.source}
        unaligned = None
        if example.alignments is not None:
            unaligned = len(words["target"]) - len({j for _, j in example.alignments})
        tags, place = example.tags_of(reader.tagged), f"{file}:{example.line}"
        return Sentence(place, tokens, others, words, tags, unaligned=unaligned)
    if isinstance(reader, SentencePairsReader):
        file, pair, _ = example
        gold = getattr(pair, reader.gold)
        words = {"first": pair.first, "second": pair.second}
        tags = None if gold is None else [str(gold)]
        return Sentence(f"{file}:{pair.line}", pair.first, pair.second, words, tags)
    chunk_tags = None
    if isinstance(reader, (ConllTagsReader, ConlluTagsReader, ConlluTreesReader)):
        sentence, tags = example
        line = sentence.lines[0]
        if isinstance(reader, ConllTagsReader):
            tokens = reader.given_words(sentence)
            chunk_tags = None if reader.tag_scheme is None else reader.given_tags(sentence)
        else:
            tokens = sentence.column("form")
        if isinstance(reader, ConlluTreesReader) and tags is not None:
            tags = tags.labels
    elif isinstance(reader, LabeledSentencesReader):
        file, sentence = example
        line, tokens, tags = sentence.line, sentence.words, [sentence.label]
    elif isinstance(reader, LabeledTreesReader):
        line, tree = example
        tokens, tags = tree.words, tree.labels
    else:  # a reader of another package: by way of the instance, which takes longer
        metadata = metadata_of(reader.to_instance(example))
        words = {"words": metadata.tokens}
        place = f"{file}:{example.line}" if hasattr(example, "line") else file
        return Sentence(place, metadata.tokens, metadata.source, words, metadata.tags)
    return Sentence(f"{file}:{line}", tokens, None, {"words": tokens}, tags, chunk_tags)


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
        self.labels: Counter[str] = Counter()
        self.words: dict[str, Counter[str]] = {}
        """By side."""
        self.chunks = ChunkChecks()
        self.target_words = self.unaligned_words = self.sentences_with_alignments = 0
        self.not_nfc = 0
        """Sentences with words that are not in NFC."""
        self.odd: dict[str, dict[str, Any]] = {}
        """Of each odd character its number, and where it is first."""
        self.repeated = self.contradictory = 0
        """Sentences that occurred before in the split; those of them with other labels."""
        self.keys: dict[int, int] = {}
        """The hash of the labels by the hash of the sentence, of the first such sentence."""
        self.sources: list[int] = []
        """The hashes of the source sentences."""
        self._all_keys: list[tuple[int, int]] = []

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
            text = " ".join(words)
            self.not_nfc += not unicodedata.is_normalized("NFC", text)
            for letter in () if text.isascii() else filter(is_odd, set(text)):
                name, new = name_of_character(letter), {"count": 0, "first": sentence.place}
                self.odd.setdefault(name, new)["count"] += text.count(letter)
        if sentence.unaligned is not None:
            self.sentences_with_alignments += 1
            self.target_words += len(sentence.words["target"])
            self.unaligned_words += sentence.unaligned
        self._add_key(sentence)

    def _add_key(self, sentence: Sentence) -> None:
        key = hash(tuple(tuple(words) for words in sentence.words.values()))
        labels = hash(None if sentence.tags is None else tuple(sentence.tags))
        if key in self.keys:
            self.repeated += 1
            self.contradictory += self.keys[key] != labels
        else:
            self.keys[key] = labels
        self._all_keys.append((key, labels))
        if "source" in sentence.words:
            self.sources.append(hash(tuple(sentence.words["source"])))

    def overlap(self, other: "Statistics") -> dict[str, Any]:
        """The sentences that also occur in another split, with other labels there, or only with their source."""
        shared: dict[str, Any] = {"sentences": 0, "contradictory": 0}
        tokens = 0
        for (key, labels), length in zip(self._all_keys, self.lengths):
            if key in other.keys:
                shared["sentences"] += 1
                shared["contradictory"] += other.keys[key] != labels
                tokens += length
        shared["share_of_tokens"] = tokens / max(1, sum(self.lengths))
        if self.sources:
            known = set(other.sources)
            shared["sources"] = sum(key in known for key in self.sources)
        return shared

    def unseen(self, training: "Statistics") -> dict[str, dict[str, Any]]:
        """By side, the words that the training data lack: as a share of all words, and of the different words."""
        result = {}
        for side, words in self.words.items():
            known = training.words.get(side, ())
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
            "odd_characters": dict(sorted(self.odd.items())),
            "sentences_not_in_nfc": self.not_nfc,
        }
        if self.chunks.count:
            result["chunks"] = self.chunks.as_json()
        if self.sentences_with_alignments:
            result["unaligned_words"] = self.unaligned_words / max(1, self.target_words)
        return result


@dataclass
class Split:
    """The training, validation or test data, and what was read of them."""

    name: str
    """One of `NAMES`."""
    path: DataPath
    reader: TaggingReader
    statistics: Statistics = field(default_factory=Statistics)
    used: list[int] = field(default_factory=list)
    """The numbers of the sentences that a training takes, from 0."""
    sample: list[Any] = field(default_factory=list)
    """Examples of some of these."""
    num_errors: int = 0
    first_errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def read(self, max_errors: int) -> None:
        """Reads the data, and goes on after errors, of which the first ones are kept."""

        def add(error: DataFormatError) -> None:
            self.num_errors += 1
            if self.num_errors <= max_errors:
                self.first_errors.append(str(error))

        reader, draw = self.reader, random.Random(0)
        reader.on_error = add
        with _logged_warnings(self.warnings):
            try:
                for number, (example, sentence) in enumerate(sentences_of(reader, self.path)):
                    if len(self.used) == reader.max_instances:
                        break
                    self.statistics.add(sentence)
                    if reader.is_too_long(example):
                        continue
                    self.used.append(number)
                    if len(self.sample) < SAMPLE:
                        self.sample.append(example)
                    elif draw.random() * len(self.used) < SAMPLE:
                        self.sample[draw.randrange(SAMPLE)] = example
            except FileError:
                raise
            except DataFormatError as error:  # after which there is nothing to go on with
                add(error)

    def as_json(self, training: "Split | None", others: Sequence["Split"]) -> dict[str, Any]:
        """What was found, also in comparison to the training data and to other splits."""
        statistics = self.statistics
        unseen: dict[str, Any] = {}
        if training is not None and training is not self:
            known = training.statistics
            labels = statistics.labels.most_common() if known.labels else ()
            unseen = {
                "unseen": statistics.unseen(known),
                "unseen_labels": {
                    name: count for name, count in labels if name not in known.labels
                },
            }
        return {
            "path": self.path,
            "files": [_facts(file) for file in files_of(self.reader, self.path)],
            **statistics.as_json(),
            "left_out_sentences": len(statistics.lengths) - len(self.used),
            **unseen,
            "overlap": {other.name: statistics.overlap(other.statistics) for other in others},
            "warnings": self.warnings,
            "errors": {"count": self.num_errors, "first": self.first_errors},
        }


@contextmanager
def _logged_warnings(messages: list[str]) -> Iterator[None]:
    """Adds what readers log meanwhile to the messages, in place of the log."""

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            messages.append(record.getMessage())

    logger, handler = logging.getLogger("allennlp_nef.data"), Handler(logging.WARNING)
    propagate, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagate


def _facts(path: str) -> dict[str, Any]:
    """What the bytes of a file say before they are decoded."""
    data = read_bytes(path)
    return {
        "path": path,
        "bytes": len(data),
        "byte_order_mark": data.startswith(codecs.BOM_UTF8),
        "crlf": b"\r\n" in data,
    }


def splits_of(
    path: str | None, reader: str | None, given: Mapping[str, str | None], overrides: str
) -> tuple[dict[str, Any], list[Split]]:
    """The config of a path or of a reader, and the data that it or `given` names."""
    if (path is None) == (reader is None):
        got = "neither" if path is None else "both"
        raise UserError(f"expected either a config or --reader, got {got}")
    own = {"dataset_reader": {"type": reader}}
    config = overridden(own, overrides) if path is None else config_of(path, overrides)
    splits = []
    for name in NAMES:
        text = given.get(name)
        data: Any = text or config.get(f"{name}_data_path")
        if text and text.lstrip().startswith("{"):  # the paths of parts, as a JSON object
            with suppress(RecursionError, ValueError):
                data = json.loads(text)
        if data:
            splits.append(Split(name, data, _reader(config, is_training=name == "train")))
    for split in splits:
        if isinstance(split.path, dict) and not isinstance(split.reader, WmtWordQeReader):
            raise UserError(f"{split.name}: expected the path of a file, got {quote(split.path)}")
    if not splits:
        raise UserError("expected data (--train, --dev or --test), got none")
    return config, splits


def _reader(config: dict[str, Any], is_training: bool) -> TaggingReader:
    name = "dataset_reader"
    if not is_training and config.get(f"validation_{name}"):
        name = f"validation_{name}"
    params = config.get(name)
    if not isinstance(params, dict):
        raise UserError(f"{name}: expected an object with the type of a reader, got {params!r}")
    try:
        kind, _ = DatasetReader.resolve_class_name(str(params.get("type")))
        if isinstance(kind, type) and issubclass(kind, TaggingReader):
            reader: Any = DatasetReader.from_params(Params(dict(params)))
            return reader
        raise UserError(
            f"{name}: expected a reader of tagged sentences, such as conll_tags, got {params['type']}"
        )
    except ConfigurationError as error:
        raise UserError(f"{name}: {summary_of(error)}") from error


class Lengths(NamedTuple):
    """Stands for an instance where a sampler asks for the lengths of its fields."""

    fields: dict[str, range]


_COUNTS = {
    "data_loader": ("batch_size", "batches_per_epoch", "max_instances_in_memory"),
    "trainer": ("num_epochs", "num_gradient_accumulation_steps"),
    "distributed": ("num_nodes",),
}
"""What a config counts."""
_TYPES: dict[str, type[Registrable]] = {"data_loader": DataLoader, "trainer": Trainer}
"""Those parts of these that have a type."""


def _options_of(config: Mapping[str, Any], part: str) -> Any:
    """What a config says of a part. A name is that of a type without options."""
    options = config.get(part) or {}
    return {"type": options} if isinstance(options, str) and part in _TYPES else options


def check_training(config: Mapping[str, Any]) -> None:
    """Raises a `UserError` where the parts of a config that say how to train are none."""
    for part, names in _COUNTS.items():
        options = _options_of(config, part)
        if not isinstance(options, Mapping):
            raise UserError(f"{part}: expected an object, got {quote(options)}")
        if "type" in options and part in _TYPES:
            name = str(options["type"])
            try:
                Params({"type": name}, f"{part}.").pop_choice("type", _TYPES[part].list_available())
                _TYPES[part].resolve_class_name(name)
            except ConfigurationError as error:
                raise UserError(summary_of(error)) from error
        for name in names:
            count = options.get(name)
            if count is not None and (type(count) is not int or count < 1):
                raise UserError(f"{part}.{name}: expected a number from 1, got {quote(count)}")
    devices = (config.get("distributed") or {}).get("cuda_devices")
    if not isinstance(devices, list | None):
        raise UserError(f"distributed.cuda_devices: expected a list, got {quote(devices)}")


def training_needs(config: Mapping[str, Any], splits: Sequence[Split]) -> dict[str, Any]:
    """The `steps` of a training on these splits, and the bytes of its `memory`.

    The memory is that of the instances of the training and validation data, which are all in it unless
    `max_instances_in_memory` says otherwise.
    """
    total = 0.0
    words: set[str] = set()
    loader = _options_of(config, "data_loader")
    for split in splits:
        if split.name == "test" or not split.sample:
            continue
        limit = loader.get("max_instances_in_memory") or len(split.used)
        total += _bytes_of_instances(split.reader, split.sample) * min(limit, len(split.used))
        words.update(*split.statistics.words.values())
    total += sum(map(sys.getsizeof, words)) + BYTES_A_WORD * len(words)
    steps = [steps_of(config, split) for split in splits if split.name == "train"]
    return {"steps": steps[0] if steps else None, "memory": round(total)}


def steps_of(config: Mapping[str, Any], training: Split) -> dict[str, Any] | None:
    """The batches and steps of a training, by the data loader of its config; None where there is none.

    # Returns

    `batches`: those of an epoch, in each process. `padding`: the share of padding in their words. `epochs`. `steps`:
    the updates of the weights in all epochs; early stopping makes them fewer.
    """
    columns = [training.statistics.lengths, training.statistics.other_lengths]
    columns = [column for column in columns if column]
    names: Sequence[str] = ("target", "source") if len(columns) == 2 else ("tokens",)
    if isinstance(training.reader, UntaggedReader):
        names = training.reader.text_fields
    sentences = [
        Lengths({name: range(column[number]) for name, column in zip(names, columns)})
        for number in training.used
    ]
    loader, trainer = _options_of(config, "data_loader"), _options_of(config, "trainer")
    distributed = config.get("distributed") or {}
    processes = len(distributed.get("cuda_devices") or [0]) * (distributed.get("num_nodes") or 1)
    groups = _batches(loader, sentences[::processes], config.get("random_seed", 13370))
    if groups is None:
        return None
    padded = filled = 0
    for group in groups:
        for fields in zip(*(item.fields.values() for item in group)):
            lengths = list(map(len, fields))
            padded += max(lengths) * len(lengths)
            filled += sum(lengths)
    batches = min(len(groups), loader.get("batches_per_epoch") or len(groups))
    epochs = trainer.get("num_epochs") or 20
    updates = ceil(batches / (trainer.get("num_gradient_accumulation_steps") or 1))
    return {
        "batches": batches,
        "padding": 1 - filled / max(1, padded),
        "epochs": epochs,
        "steps": updates * epochs,
    }


def _batches(
    loader: Mapping[str, Any], sentences: Sequence[Lengths], seed: int
) -> list[list[Lengths]] | None:
    """The batches of an epoch; None where the loader has neither a sampler nor a batch size, or counts pieces."""
    state = random.getstate()
    random.seed(seed)
    try:
        if loader.get("batch_sampler"):
            own: Any = loader["batch_sampler"]
            options = {"type": own} if isinstance(own, str) else own
            sampler: Any = BatchSampler.from_params(Params(options, "data_loader.batch_sampler."))
            if isinstance(sampler, MaxPiecesBatchSampler):
                return None
            return [[sentences[i] for i in group] for group in sampler.get_batch_indices(sentences)]
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
    """The mean memory of the instances of some examples, with their indices.

    The tokens of words, which instances share, do not count: the instances are made twice, and the second time is
    measured. Their examples are copied first, as instances keep parts of them.
    """

    def make() -> list[Any]:
        instances = [
            reader.to_instance(pickle.loads(pickle.dumps(example))) for example in examples
        ]
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
