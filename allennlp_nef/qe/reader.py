"""The dataset reader for word-level quality estimation."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Field, Instance, TokenIndexer
from allennlp.data.fields import MetadataField, TensorField
from allennlp.data.token_indexers import SingleIdTokenIndexer
from allennlp.data.tokenizers import Tokenizer

from allennlp_nef.data.dataset_readers.base import NefDatasetReader, Writer, text_field
from allennlp_nef.data.fields import TagsField
from allennlp_nef.data.sentence import Offsets, Sentence
from allennlp_nef.data.tokenizers import PUNCTUATION, split_text
from allennlp_nef.qe.aligner import (
    WordAligner,
    archived_aligner,
    load_aligner,
    similarity_matrix,
)
from allennlp_nef.qe.files import PREFIX_ENDING, DataPath, ReadOptions, read_examples
from allennlp_nef.qe.layouts import EOS, TAGGED, Link, without_eos
from allennlp_nef.qe.translated_sentence import TranslatedSentence
from allennlp_nef.qe.writers import WRITERS


@DatasetReader.register("wmt_word_qe")
class WmtWordQeReader(NefDatasetReader):
    """Reads word-level quality estimation data from the WMT shared tasks: sentences, their machine translations, word
    alignments, and a tag, OK or BAD, for each word of the translation. `allennlp_nef.qe.files` describes data paths and
    files. Error spans become tags: a word is BAD if a span covers one of its characters.

    An instance has the fields

    - `target`: `TextField` of the tokens that are tagged, by default the words of the translation;
    - `source`: `TextField` of the words of the other side;
    - `alignments`: `TensorField`, bool, (target tokens, source tokens);
    - `similarity`: `TensorField` of the similarity of words, (target tokens, source tokens), with `word_similarity`;
    - `tags`: `TagsField`, if the tags are known, or, with `sentence_scores`, a score in their place;
    - `sentence_scores`: `TensorField` of the gold scores in the order of `answers.ESTIMATES`, NaN if unknown, with the
      option of this name if there are `tags`;
    - `metadata`: the `TranslatedSentence`.

    # Parameters

    source_token_indexers, target_token_indexers : `dict[str, TokenIndexer]`, optional
        The indexers of the `source` and `target` fields. Default: `{"tokens": SingleIdTokenIndexer}` with the
        namespaces "source_tokens" and "target_tokens".
    tagged : `str`, optional (default = `"target"`)
        - "target": the words of the translation.
        - "gaps": n+1 tokens for n words, the words and `<EOS>`. Each represents the gap before it.
        - "target_and_gaps": 2n+1 tokens, `<gap>`, word, `<gap>`, ..., `<gap>`. A gap is aligned like its neighbors.
        - "source": the words of the source, with the tags of `.source_tags`. The `source` and `target` fields trade
          places.
    eos : `bool`, optional (default = `False`)
        The layout of WMT22, for "target": every translation ends in the `<EOS>` token and has n+1 tags. Tags of words
        and gaps (2n+1) are converted: a word is BAD if the word or the gap before it is BAD. Without this option, a
        final `<EOS>` in the data is a token like any other. `<EOS>` is never aligned.
    aligner : `bool` or `str`, optional (default = `True`)
        The word aligner for sentences without alignments. True: the aligner in the archive that the reader is loaded
        from; there is none in training. False: none, without a warning. A string: the path of a file written by
        `learn_aligner`; when loaded from an archive, the archive's aligner replaces it. Without an aligner, no word of
        these sentences is aligned.
    word_similarity : `bool`, optional (default = `False`)
        Whether instances have the `similarity` field, which the `aligned_pair` option of the same name needs.
    source_tokenizer, target_tokenizer : `Tokenizer`, optional (default = `None`)
        Split raw text: strings in requests, error spans, and files without tags and alignments. In other files,
        whitespace separates the words. None: the rules of `punctuation` for strings in requests, whitespace in files.
    severities : `bool`, optional (default = `False`)
        Whether the tags of error spans are OK, minor and major instead of OK and BAD.
    sentence_scores : `bool`, optional (default = `False`)
        Whether to read the scores of sentences: HTER from `.hter`, or 1 - ESA / 100 from files of error spans; direct
        assessments from `.da`; and judgments of critical errors.
    language_pair : `str`, optional (default = `None`, all)
        Reads only this pair, such as `en-de`, from error span files with several pairs. The `source` part then has one
        line for each sentence of this pair.
    skip_invalid_spans : `bool`, optional (default = `False`)
        Whether to skip sentences with an error span outside their text, which the WMT23 data contain, with a warning
        that gives their number. By default, such a span is an error.
    max_tokens, label_namespace, max_instances
        See `NefDatasetReader`. `max_tokens` does not count gaps, or the `<EOS>` added by the `eos` option.
    """

    text_fields = ()
    prefix_ending = PREFIX_ENDING
    writers: ClassVar[dict[str, Writer]] = WRITERS

    def __init__(
        self,
        source_token_indexers: dict[str, TokenIndexer] | None = None,
        target_token_indexers: dict[str, TokenIndexer] | None = None,
        tagged: str = "target",
        eos: bool = False,
        aligner: bool | str = True,
        word_similarity: bool = False,
        source_tokenizer: Tokenizer | None = None,
        target_tokenizer: Tokenizer | None = None,
        severities: bool = False,
        sentence_scores: bool = False,
        language_pair: str | None = None,
        skip_invalid_spans: bool = False,
        max_tokens: int | None = None,
        label_namespace: str = "labels",
        max_instances: int | None = None,
    ) -> None:
        super().__init__(
            max_tokens=max_tokens, label_namespace=label_namespace, max_instances=max_instances
        )
        if tagged not in TAGGED:
            raise ConfigurationError(f"tagged must be one of {', '.join(TAGGED)}, not {tagged!r}")
        if tagged != "target" and (eos or severities):
            raise ConfigurationError(f"eos and severities need tagged 'target', not {tagged!r}")
        self.tagged = tagged
        self.eos = eos
        self.severities = severities
        self.word_similarity = word_similarity
        self.sentence_scores = sentence_scores
        self.language_pair = language_pair
        self.skip_invalid_spans = skip_invalid_spans
        self.source_tokenizer = source_tokenizer
        self.target_tokenizer = target_tokenizer
        self.aligner: WordAligner | None = None
        """Aligns sentences that have no alignments."""
        self.needs_alignments = aligner is not False
        if isinstance(aligner, str):
            self.aligner = load_aligner(aligner)
        for side, indexers in (
            ("source", source_token_indexers),
            ("target", target_token_indexers),
        ):
            default = SingleIdTokenIndexer(namespace=f"{side}_tokens")
            self.indexers[side] = indexers or {"tokens": default}

    @classmethod
    def from_params(cls, params: Params, *args: Any, **extras: Any) -> "WmtWordQeReader":
        """Builds the reader from a config. The reader in an archive uses the aligner that the archive contains."""
        path = archived_aligner(extras)
        if path and params.get("aligner", True):
            params["aligner"] = path
        return super().from_params(params, *args, **extras)

    def examples(self, file_path: DataPath) -> Iterator[TranslatedSentence]:
        options = ReadOptions(
            tagged=self.tagged,
            eos=self.eos,
            severities=self.severities,
            sentence_scores=self.sentence_scores,
            language_pair=self.language_pair,
            skip_invalid_spans=self.skip_invalid_spans,
            split_source=self.split_source if self.source_tokenizer else None,
            split_target=self.split_target if self.target_tokenizer else None,
        )
        has_warned = self.aligner is not None or not self.needs_alignments
        num_read = num_skipped = 0
        for pair in read_examples(file_path, options):
            num_read += 1
            if pair.error is not None:
                num_skipped += 1
                continue
            if pair.links is None and not has_warned:
                self.warn("%s: no word alignments; all words count as unaligned.", file_path)
                has_warned = True
            yield pair
        if num_skipped:
            self.warn(
                "%s: skipped %d of %d sentences, which have a span outside their text.",
                *(file_path, num_skipped, num_read),
            )

    def split_source(self, text: str) -> tuple[list[str], Offsets]:
        """Returns the words of a raw source, and the start and end of each."""
        return split_text(text, self.source_tokenizer or PUNCTUATION)

    def split_target(self, text: str) -> tuple[list[str], Offsets]:
        """Returns the words of a raw translation, and the start and end of each. A final `<EOS>` stays one word."""
        end = text.rindex(EOS) if text.split()[-1:] == [EOS] else len(text)
        words, offsets = split_text(text[:end], self.target_tokenizer or PUNCTUATION)
        if end < len(text):
            words.append(EOS)
            offsets.append((end, end + len(EOS)))
        return words, offsets

    def num_tokens(self, example: TranslatedSentence) -> int:
        if self.tagged == "source":
            return len(example.source.words)
        words = example.target.words
        return len(without_eos(words) if self.eos else words)

    def text_to_instance(
        self,
        source: list[str],
        target: list[str],
        alignments: Sequence[Link] | None = None,
        tags: list[str] | None = None,
    ) -> Instance:
        """
        # Parameters

        source, target : `list[str]`
            Words, at least one each. The target may end in `<EOS>`, but not if gaps are tagged. `layouts.check_words`
            checks this.
        alignments : `Sequence[tuple[int, int]]`, optional (default = `None`)
            Pairs (source index, target index), from 0. None: the aligner of the reader finds them.
        tags : `list[str]`, optional (default = `None`, unlabeled)
            A tag for each token that is tagged.
        """
        pair = TranslatedSentence(Sentence(source), Sentence(target), tags=tags)
        pair.links = None if alignments is None else [*alignments]
        return self.to_instance(pair)

    def to_instance(self, example: TranslatedSentence) -> Instance:
        """Returns the instance of a translated sentence, which gets its `tokens` and, if it has none, links."""
        example.align(self.aligner)
        example.tokens, others, links = example.sides(self.tagged, self.eos)
        is_aligned = numpy.zeros((len(example.tokens), len(others)), dtype=bool)
        for i, j in links:
            is_aligned[j, i] = True
        target_field = text_field(example.tokens)
        fields: dict[str, Field] = {
            "source": text_field(others),
            "target": target_field,
            "alignments": ArrayField(is_aligned),
        }
        if self.word_similarity:
            fields["similarity"] = ArrayField(similarity_matrix(example.tokens, others))
        scores = numpy.array(example.estimates if self.sentence_scores else [], numpy.float32)
        if example.tags is not None or not numpy.isnan(scores).all():
            tags: Sequence[str | None] = example.tags or [None] * len(example.tokens)
            fields["tags"] = TagsField(tags, target_field, self.label_namespace)
            if self.sentence_scores:
                fields["sentence_scores"] = ArrayField(scores)
        return Instance({**fields, "metadata": MetadataField(example)})


class ArrayField(TensorField):
    """A `TensorField` that is pickled as an array: a tensor would keep a file open for each instance of a worker."""

    __slots__: list[str] = []

    def __init__(self, array: Any) -> None:
        super().__init__(numpy.asarray(array), padding_value=0)

    def __reduce__(self) -> tuple[Any, ...]:
        return ArrayField, (self.tensor.numpy(),)
