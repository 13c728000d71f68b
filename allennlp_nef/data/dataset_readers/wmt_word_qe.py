"""The reader of word-level quality estimation, its output formats and its aligner."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import islice
from typing import Any, ClassVar

from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Field, Instance, TokenIndexer
from allennlp.data.fields import MetadataField, TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer
from allennlp.data.tokenizers import Tokenizer
from overrides import overrides

from allennlp_nef.data.aligners.aligner_files import load_aligner
from allennlp_nef.data.aligners.encoder_aligner import (
    ALIGNED_TOGETHER,
    EncoderAligner,
    encoder_aligner,
)
from allennlp_nef.data.aligners.lexical_aligner import (
    MIN_TRANSLATED,
    LexicalAligner,
    translated_words,
)
from allennlp_nef.data.dataset_readers.tagging_reader import (
    Prediction,
    TaggingReader,
    Writer,
    token_of,
)
from allennlp_nef.data.fields import AlignmentField, NumberField, SimilarityField, TagsField
from allennlp_nef.data.formats.characters import SplitText, check_words
from allennlp_nef.data.formats.data_paths import DataPath
from allennlp_nef.data.formats.error_spans import SEVERITIES, ErrorSpan, format_error_spans
from allennlp_nef.data.formats.wmt_layouts import (
    EOS,
    GAP,
    TAGGED,
    TAGS,
    check_eos,
    check_tags,
    format_header,
    format_sentence_score,
    format_submission,
    format_tags,
    interleave,
    tagged_side,
    without_eos,
)
from allennlp_nef.data.formats.wmt_segments import (
    Segment,
    format_item,
    format_names,
    format_span_row,
    in_one_line,
)
from allennlp_nef.data.formats.wmt_word_qe import ReadOptions, WordQeExample, read_examples
from allennlp_nef.data.formats.word_alignments import check_alignments
from allennlp_nef.data.metadata import TaggingMetadata, metadata_of
from allennlp_nef.data.tokenizers import split_text
from allennlp_nef.errors import DataFormatError, quote
from allennlp_nef.resources import ALIGNER_NAME, archived_path

Aligner = LexicalAligner | EncoderAligner
_KINDS = {"target": "mt", "gaps": "gap", "target_and_gaps": "mt", "source": "source"}


def write_tags(reader: "WmtWordQeReader", prediction: Prediction) -> str:
    """A line of tags, as in a `.tags` file of WMT. With words and gaps: gap, word, ..., gap."""
    return format_tags(_without_severities(prediction)) + "\n"


def write_columns(
    reader: "WmtWordQeReader",
    prediction: Prediction,
    header_lines: int = 0,
    kind: str | None = None,
) -> str:
    """Rows of a submission: method, sentence, word index, word and tag, as in WMT16 to 19.

    With two header lines before the first sentence (WMT20 and 21) or three (WMT22 and 23), they have seven columns.
    Of a model of words and gaps, the rows are those of the words, or of the gaps with the `kind` "gap".
    """
    words, tags = prediction.tokens, _without_severities(prediction)
    kind = kind or _KINDS[reader.tagged]
    if reader.tagged == "target_and_gaps":
        start = int(kind == "mt")
        words, tags = words[start::2], tags[start::2]
    if kind == "gap":
        words = ["gap"] * len(tags)
    header = _header(prediction, header_lines) if header_lines else ""
    language_pair = prediction.language_pair if header_lines else None
    method, number = prediction.method, prediction.number
    return header + format_submission(method, number, words, tags, language_pair, kind) + "\n"


def write_sentence_scores(reader: "WmtWordQeReader", prediction: Prediction) -> str:
    """A row of a submission of sentence scores to WMT22 or 23, before the first one three header lines."""
    header = _header(prediction)
    pair, score = prediction.language_pair or "", prediction.answer["sentence_score"]
    return header + format_sentence_score(pair, prediction.method, prediction.number, score) + "\n"


def write_text(reader: "WmtWordQeReader", prediction: Prediction) -> str:
    """A line of words, `/BAD` or `/` and the severity after the bad ones, and `<gap>/BAD` for the bad gaps."""
    tokens, tags = prediction.tokens, prediction.tags
    if reader.tagged == "gaps":
        words = tokens[:-1]
        tokens, tags = interleave([GAP] * len(tags), words), interleave(tags, ["OK"] * len(words))
    if "gaps" in reader.tagged:  # the good gaps, at even indices, are left out
        shown = [i for i, tag in enumerate(tags) if i % 2 or tag == "BAD"]
        tokens, tags = [tokens[i] for i in shown], [tags[i] for i in shown]
    return " ".join(w if tag == "OK" else f"{w}/{tag}" for w, tag in zip(tokens, tags)) + "\n"


def write_explanations(reader: "WmtWordQeReader", prediction: Prediction) -> str:
    """A line of numbers, higher for worse words, as the explanations of WMT22: the probabilities of BAD by default."""
    answer = prediction.answer
    return " ".join(map(repr, answer.get("explanation", answer["bad_probabilities"]))) + "\n"


def write_spans(reader: "WmtWordQeReader", prediction: Prediction) -> str:
    """A row of a submission of error spans to WMT23; before the first sentence three header lines.

    Tabs and line ends of the text, and surrogates, which UTF-8 lacks, are written as blanks: offsets stay right.
    """
    header = _header(prediction)
    text = " ".join(prediction.tokens) if prediction.text is None else prediction.text
    spans = [
        ErrorSpan(span["start"], span["end"], span["severity"])
        for span in prediction.answer["spans"]
    ]
    pair = prediction.language_pair or ""
    return header + format_error_spans(
        pair, prediction.method, prediction.number, in_one_line(text), spans
    )


def write_span_rows(reader: "WmtWordQeReader", prediction: Prediction) -> str:
    """A row of a submission of error spans to WMT25, before the first one the names of the columns.

    An empty span, which is that of `<EOS>`, is an omission.
    """
    segment = _segment(prediction)
    names = "" if prediction.number else format_names()
    return names + format_span_row(segment, *_errors(prediction))


def write_task1(reader: "WmtWordQeReader", prediction: Prediction) -> str:
    """A part of a line of error spans and omissions for task 1 of WMT26: see `format_item`."""
    spans, omission = _errors(prediction)
    errors = [span._asdict() for span in spans]
    value = {"errors": errors, "omission": omission, "instruction_fault": None}
    return format_item(_segment(prediction), "task1_pred", value)


def write_task2(reader: "WmtWordQeReader", prediction: Prediction) -> str:
    """A part of a line of scores for task 2 of WMT26, from 0 to 100: 100 times 1 minus the sentence score."""
    score = 100 * (1 - prediction.answer["sentence_score"])
    segment = _segment(prediction)
    value = round(score, 4) if (segment.target or "").strip() else 0.0
    return format_item(segment, "task2_pred", value)


def write_task3(reader: "WmtWordQeReader", prediction: Prediction) -> str:
    """
    A part of a line of decisions for task 3 of WMT26: 1 for a segment that the model accepts, or, where it does not
    decide that, one with neither error spans nor an omission. A translation without words has an omission.
    """
    segment = _segment(prediction)
    spans, omission = _errors(prediction)
    is_free = not spans and omission is None
    if "accept" in prediction.answer and (segment.target or "").strip():
        is_free = prediction.answer["accept"]
    return format_item(segment, "task3_pred", int(is_free))


def _segment(prediction: Prediction) -> Segment:
    if prediction.segment is None:
        raise ConfigurationError(
            "output_format: expected a file of segments of WMT24 to 26 (--use-dataset-reader), which have documents "
            "and systems, got a sentence without"
        )
    return prediction.segment


def _errors(prediction: Prediction) -> tuple[list[ErrorSpan], str | None]:
    """The spans of a segment, and the severity of its omission. A translation without words is a major omission."""
    if not (_segment(prediction).target or "").strip():
        return [], SEVERITIES[-1]
    spans = [
        ErrorSpan(span["start"], span["end"], span["severity"])
        for span in prediction.answer["spans"]
    ]
    omission = next((span.severity for span in spans if span.start == span.end), None)
    return [span for span in spans if span.start < span.end], omission


def _header(prediction: Prediction, lines: int = 3) -> str:
    """The header lines before the first sentence; nothing before another."""
    return "" if prediction.number else format_header(prediction.header[:lines])


def _without_severities(prediction: Prediction) -> list[str]:
    """The tags, with BAD for minor and major."""
    return ["OK" if tag == "OK" else "BAD" for tag in prediction.tags]


WRITERS: dict[str, Writer] = {
    "tags": write_tags,
    "tsv": write_columns,
    "text": write_text,
    "wmt20": partial(write_columns, header_lines=2),
    "wmt20_gaps": partial(write_columns, header_lines=2, kind="gap"),
    "wmt22": partial(write_columns, header_lines=3),
    "wmt22-explanations": write_explanations,
    "wmt23-spans": write_spans,
    "wmt-sentences": write_sentence_scores,
    "wmt25-spans": write_span_rows,
    "wmt26-task1": write_task1,
    "wmt26-task2": write_task2,
    "wmt26-task3": write_task3,
}
"""The formats of word-level quality estimation, by name."""


@DatasetReader.register("wmt_word_qe")
class WmtWordQeReader(TaggingReader):
    """
    Reads word-level quality estimation data of the WMT shared tasks: sentences, their machine
    translations, word alignments, and one of OK and BAD a target word, or for each of what else is tagged.

    The data path is the prefix of the files, `data/train` for `data/train.src`, `data/train.mt` and so on; or a dict
    with the path of each part, such as `{"source": "a.src", "target": "a.mt", "tags": "a.tags"}` (and of `alignments`,
    `source_tags`, `hter`, `post_edits` and `spans`); or a `.json` file that holds such an object. The module
    `allennlp_nef.data.formats.wmt_word_qe` states the format. Or it is a file of error spans: a `.tsv` file with the
    columns of the development data of WMT23, or segments of WMT24 to 26 (`.jsonl`, `.csv`, `.tsv`, see
    `allennlp_nef.data.formats.wmt_segments`). Then a word is BAD where a span covers one of its characters, and `<EOS>`
    where something is missing.

    An instance has the fields

    - `target`: `TextField` of the tokens that are tagged, by default the words of the translation;
    - `source`: `TextField` of the words of the other side;
    - `alignments`: bool (target tokens, source tokens), True where aligned, padded with False;
    - `similarity`: a `SimilarityField`, with the option `word_similarity`;
    - `tags`: `TagsField` over the target tokens, where the tags are known;
    - `sentence_score`: a `NumberField`, with the option `sentence_scores`, where there is a file `.hter`;
    - `metadata`: a `TaggingMetadata`.

    Sentences without alignments (no file of them, none in a request) are aligned by an aligner, where the reader has
    one. An empty line of alignments is one that is given: nothing is aligned.

    Registered as a `DatasetReader` with name "wmt_word_qe".

    # Parameters

    source_token_indexers, target_token_indexers : `dict[str, TokenIndexer]`, optional
        Of the fields `source` and `target`, whatever is tagged. Default: `{"tokens": SingleIdTokenIndexer}` with the
        namespaces "source_tokens" and "target_tokens".
    tagged : `str`, optional (default = `"target"`)
        "target"; "gaps", n+1 for n words of the translation: the tokens are the words and `<EOS>`, and each stands for
        the gap before it; "target_and_gaps", 2n+1 tokens: the words, and `<gap>` between and around them, each aligned
        as the words beside it are; "source": the two sides of an instance trade places, so that the field `target` has
        the words of the source, with the tags of `.source_tags`.
    eos : `bool`, optional (default = `False`)
        The layout of WMT22: every translation ends in the token `<EOS>`, which is added where it is missing, and has
        n+1 tags. Tags of words and gaps (2n+1) become such: a word is BAD where it or the gap before it is, `<EOS>`
        where the last gap is. False: a final `<EOS>` is a token like others. Either way it is not aligned. For
        `tagged` "target" alone.
    aligner : `str`, `bool` or `dict[str, Any]`, optional (default = `True`)
        The aligner. True: that of the archive, in the reader of an archive that has one; else none. False: none. A
        string: the path of an aligner's file; the reader of an archive that has an aligner takes that one. An object:
        the options of `EncoderAligner`, such as `{"model_name": "intfloat/multilingual-e5-small", "layer": 6}`.
    word_similarity : `bool`, optional (default = `False`)
        Whether instances have the field `similarity`, which `aligned_pair` takes with the option of the same name.
    source_tokenizer, target_tokenizer : `Tokenizer`, optional (default = `None`, words are between whitespace)
        Such as `sacremoses`: for raw text. They tokenize the strings of requests, files of error spans, and files
        without tags and alignments. Where there are tags or alignments, the words are those between whitespace.
    severities : `bool`, optional (default = `False`)
        Whether the tags of files of error spans are OK, minor and major, in place of OK and BAD.
    clip_spans : `bool`, optional (default = `False`)
        Whether an error span outside of its text is cut, and one whose start is after its end left out, each with a
        warning. Otherwise they are errors.
    sentence_scores : `bool`, optional (default = `False`)
        Whether instances have the field `sentence_score`: the number of their line in the file `.hter`, or of a segment
        1 minus its score over 100. A model that learns them, or a metric of them, takes it. Other data than those of a
        training may lack the file.
    max_tokens, label_namespace, weighting
        See `TaggingReader`. Gaps, and `<EOS>` with the option `eos`, do not count as tokens.
    """

    writers: ClassVar[dict[str, Writer]] = WRITERS

    def __init__(
        self,
        source_token_indexers: dict[str, TokenIndexer] | None = None,
        target_token_indexers: dict[str, TokenIndexer] | None = None,
        aligner: bool | str | dict[str, Any] = True,
        word_similarity: bool = False,
        tagged: str = "target",
        eos: bool = False,
        source_tokenizer: Tokenizer | None = None,
        target_tokenizer: Tokenizer | None = None,
        severities: bool = False,
        clip_spans: bool = False,
        sentence_scores: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if tagged not in TAGGED:
            raise ConfigurationError(f"tagged: expected {', '.join(TAGGED)}, got {tagged!r}")
        if not isinstance(eos, bool):
            raise ConfigurationError(f"eos: expected true or false, got {eos!r}")
        for name, value in (("eos", eos), ("severities", severities)):
            if value and tagged != "target":
                raise ConfigurationError(
                    f'{name}: expected tagged "target" with it, got {tagged!r}'
                )
        self.tagged = tagged
        self.eos = eos
        self.source_tokenizer = source_tokenizer
        self.target_tokenizer = target_tokenizer
        self._severities = severities
        self._clip_spans = clip_spans
        self._reader_aligner = ReaderAligner(aligner)
        self._word_similarity = word_similarity
        self._sentence_scores = sentence_scores
        self.indexers = {
            "source": source_token_indexers
            or {"tokens": SingleIdTokenIndexer(namespace="source_tokens")},
            "target": target_token_indexers
            or {"tokens": SingleIdTokenIndexer(namespace="target_tokens")},
        }

    @classmethod
    @overrides(check_signature=False)
    def from_params(cls, params: Params, *args: Any, **extras: Any) -> "WmtWordQeReader":
        """As for `TaggingReader`. The reader of an archive gets the aligner that the archive holds."""
        path, option = archived_path(ALIGNER_NAME, extras), params.get("aligner", True)
        if path and option and isinstance(option, (bool, str)):
            params["aligner"] = path
        return super().from_params(params, *args, **extras)  # type: ignore[return-value]

    @property
    def aligner(self) -> Aligner | None:
        """Aligns the sentences that come without alignments; None where the reader has none."""
        return self._reader_aligner.aligner

    @overrides(check_signature=False)
    def examples(self, file_path: DataPath) -> Iterator[WordQeExample]:
        options = ReadOptions(
            tagged=self.tagged,
            eos=self.eos,
            split_source=self.split_source if self.source_tokenizer else None,
            split_target=self.split_target if self.target_tokenizer else None,
            severities=self._severities,
            clip_spans=self._clip_spans,
            sentence_scores=self._sentence_scores,
            on_error=self.on_error,
        )
        if self.aligner:
            without = "words are aligned by the model's aligner"
            options = replace(options, without_alignments=without)
        return read_examples(file_path, options)

    @overrides
    def prepared(self, examples: Iterable[Any]) -> Iterable[Any]:
        """The same examples. An encoder aligns the words of many at once."""
        aligner = self.aligner
        return aligned(examples, aligner) if isinstance(aligner, EncoderAligner) else examples

    def split_source(self, text: str) -> SplitText:
        """The words of a raw source text."""
        return split_text(text, self.source_tokenizer)

    def split_target(self, text: str) -> SplitText:
        """The words of a raw translation."""
        return split_text(text, self.target_tokenizer)

    @overrides
    def num_tokens(self, example: Any) -> int:
        return len(example.source if self.tagged == "source" else example.target) - self.eos

    @overrides
    def to_instance(self, example: Any) -> Instance:
        source, target, alignments = example.source, example.target, example.alignments
        instance = self.build_instance(source, target, alignments, example.tags_of(self.tagged))
        metadata = metadata_of(instance)
        metadata.post_edit, metadata.document = example.post_edit, example.document
        if self.tagged == "target":
            metadata.text, metadata.offsets = example.text, example.offsets
            metadata.spans, metadata.segment = example.spans, example.segment
        if example.hter is not None:
            instance.add_field("sentence_score", NumberField(example.hter))
        return instance

    @overrides(check_signature=False)
    def text_to_instance(
        self,
        source: list[str],
        target: list[str],
        alignments: Sequence[Sequence[int]] | None = None,
        tags: list[str] | None = None,
    ) -> Instance:
        """
        # Parameters

        source, target : `list[str]`
            Words, at least one each. The target may end in `<EOS>`, but not where gaps are tagged.
        alignments : `Sequence[Sequence[int]]`, optional (default = `None`)
            Pairs (source index, target index), from 0. None: the reader's aligner finds them; without one nothing is
            aligned.
        tags : `list[str]`, optional (default = `None`, unlabeled)
            OK or BAD for each target word, with the option `eos` for `<EOS>` too; or for each of what else is tagged.
            With `severities`, OK, minor or major.

        # Raises

        `DataFormatError`, a `ValueError`: no words, a string in place of a list, a word that `check_words` refuses,
        an alignment outside of the sentences, `<EOS>` where it cannot be, not as many tags as tokens, an unknown tag.
        """
        for name, words in (("source", source), ("target", target)):
            if not isinstance(words, list) or not words:
                raise DataFormatError(f"{name}: expected a list of words, got {quote(words)}")
            check_words(words, name)
        check_eos(source, target, "gaps" not in self.tagged)
        pairs: list[tuple[int, int]] | None = None
        if alignments is not None:
            pairs = check_alignments(alignments, len(source), len(without_eos(target)))
        instance = self.build_instance(source, target, pairs, tags)
        if tags is not None:
            check_tags(tags, labels=("OK", *SEVERITIES) if self._severities else TAGS)
        return instance

    def build_instance(
        self,
        source: list[str],
        target: list[str],
        alignments: Sequence[tuple[int, int]] | None,
        tags: list[str] | None = None,
    ) -> Instance:
        """The instance of parts that were checked.

        # Raises

        `DataFormatError`: not as many tags as tokens.
        """
        words = without_eos(target)
        alignments_from = "given"
        if alignments is None:
            alignments, alignments_from = self._reader_aligner.align(source, words, self.warn)
        translation = [*words, EOS] if self.eos else target
        tokens, others, links = tagged_side(self.tagged, source, translation, alignments)
        target_field = TextField([token_of(word) for word in tokens])
        fields: dict[str, Field] = {
            "source": TextField([token_of(word) for word in others]),
            "target": target_field,
            "alignments": AlignmentField(links, len(tokens), len(others)),
        }
        if self._word_similarity:
            fields["similarity"] = SimilarityField(tokens, others)
        if tags is not None:
            if len(tags) != len(tokens):
                raise DataFormatError(
                    f"tags: expected {len(tokens)} tags (one a {TAGGED[self.tagged]}), got {len(tags)}"
                )
            fields["tags"] = TagsField(tags, target_field, self._label_namespace)
        metadata = TaggingMetadata(tokens, source, tags, None, alignments, alignments_from)
        if self.eos or self.tagged != "target":
            metadata.target, metadata.tagged = words if self.eos else target, self.tagged
        fields["metadata"] = MetadataField(metadata)
        return Instance(fields)


LANGUAGE_WORDS = 100
"""So many words are looked at to tell whether they are of the aligner's languages."""


class ReaderAligner:
    """The aligner of a dataset reader, for the sentences that come without alignments.

    # Parameters

    option : `bool`, `str` or `dict[str, Any]`
        The path of an aligner's file, or the options of an `EncoderAligner`. True and False: there is no aligner.

    # Raises

    `ConfigurationError`: another option, no file of an aligner.
    """

    def __init__(self, option: bool | str | dict[str, Any]) -> None:
        self.aligner: Aligner | None = None
        self._checked_words = self._translated_words = 0
        if isinstance(option, str):
            try:
                self.aligner = _loaded(option)
            except (DataFormatError, OSError) as error:
                raise ConfigurationError(f"aligner: {error}") from error
        elif isinstance(option, dict):
            self.aligner = encoder_aligner(option)
        elif not isinstance(option, bool):
            raise ConfigurationError(
                f"aligner: expected true, false, the path of a file or the options of an encoder, got {option!r}"
            )

    def align(
        self,
        source: list[str],
        target: list[str],
        warn: Callable[..., None],
    ) -> tuple[list[tuple[int, int]], str]:
        """The links of two sentences, and where they come from: "computed", or "none" without an aligner.

        `warn` is called once with a message and its values where the first words are not of the aligner's languages.
        """
        if self.aligner is None:
            return [], "none"
        if isinstance(self.aligner, LexicalAligner) and self._checked_words < LANGUAGE_WORDS:
            translated, words = translated_words(self.aligner.lexicon.links, source, target)
            self._translated_words += translated
            self._checked_words += words
            share = self._translated_words / max(1, self._checked_words)
            if self._checked_words >= LANGUAGE_WORDS and share < MIN_TRANSLATED:
                warn(
                    "Of the first %d words that the model's aligner aligned, it knows a translation of %d: are they of "
                    "the languages that the model was trained on?",
                    self._checked_words,
                    self._translated_words,
                )
        return self.aligner.align(source, target), "computed"


def aligned(examples: Iterable[WordQeExample], aligner: EncoderAligner) -> Iterator[WordQeExample]:
    """The same examples, of which the aligner keeps the links of those that have none."""
    remaining = iter(examples)
    while batch := list(islice(remaining, ALIGNED_TOGETHER)):
        pairs = [(e.source, without_eos(e.target)) for e in batch if e.alignments is None]
        aligner.align_all(pairs)
        yield from batch


def _loaded(path: str) -> LexicalAligner:
    """The aligner of a file. An archive's two readers share it."""
    status = os.stat(path) if os.path.isfile(path) else None
    return _cached(path, status and (status.st_mtime_ns, status.st_size))


@lru_cache(maxsize=1)
def _cached(path: str, state: tuple[int, int] | None) -> LexicalAligner:
    return load_aligner(path)
