"""What `score-tags` reads in the formats of the WMT shared tasks, and how it scores it."""

import argparse
from collections.abc import Sequence
from dataclasses import replace

from allennlp_nef.data.formats.error_spans import SpannedText, read_error_spans, severities_of
from allennlp_nef.data.formats.score_files import read_sentence_scores, read_word_scores
from allennlp_nef.data.formats.tag_files import TagFile, TaggedSentence
from allennlp_nef.data.formats.wmt_layouts import kinds_in
from allennlp_nef.data.formats.wmt_tag_files import (
    check_sentences,
    check_systems,
    leave_out,
    line_up,
    read_tags,
    read_text,
    with_words,
)
from allennlp_nef.errors import DataFormatError, UserError, quote
from allennlp_nef.metrics.tag_scores import WORD_QE, Scorer
from allennlp_nef.metrics.wmt_scores import CORRELATIONS, EXPLANATIONS, SPANS


def kinds_of(args: argparse.Namespace, paths: Sequence[str]) -> list[str]:
    """
    The kinds of tags in the files of the format wmt, where files have several; else none.

    # Raises

    `DataFormatError`: files with other kinds than the gold file. `UserError`: an option for one kind.
    """
    gold, *others = [kinds_in(path, args.encoding) for path in paths]
    if max(map(len, (gold, *others))) < 2:
        return []
    for path, kinds in zip(paths[1:], others):
        if kinds != gold:
            expected, got = (", ".join(each) or "none" for each in (gold, kinds))
            raise DataFormatError(
                f"{path}: expected the kinds of tags of {paths[0]} ({expected}), got {got}"
            )
    for name, value in (("--text", args.text), ("--gaps", args.gaps)):
        if value is not None:
            raise UserError(f"{name}: expected files with one kind of tags, got {', '.join(gold)}")
    return gold


def read_wmt_files(
    args: argparse.Namespace, paths: Sequence[str], kind: str | None = None
) -> list[TagFile]:
    """
    Reads the gold file and the predicted files, without the sentences that are left out; of files with several kinds of
    tags, one kind.

    # Raises

    `DataFormatError`: what the readers of the format raise, files that do not line up. `UserError`: a text for gaps.
    """
    if args.text is not None and args.gaps == "only":
        raise UserError("--text: expected tags of words, got --gaps only")
    gold, *predicted = paths
    if args.format == "wmt-spans":
        files = _read_spans(paths, bool(args.clip_spans), args.encoding)
    elif args.format == "wmt-sentences":
        files = [read_sentence_scores(path, args.encoding) for path in paths]
        check_systems(files)
    elif args.format == "wmt-explanations":
        field = args.field or "bad_probabilities"
        scores = [read_word_scores(path, field, args.encoding) for path in predicted]
        files = [read_tags(gold, args.encoding), *scores]
    else:
        files = [read_tags(path, args.encoding, kind) for path in paths]
    if args.text is not None:
        files.append(read_text(args.text, args.encoding))
    files = leave_out(files, args.hallucinations, args.encoding)
    text = None if args.text is None else files.pop()
    if args.format == "wmt-explanations":
        files = line_up(files)
    elif args.format == "wmt":
        gaps = {"yes": True, "no": False}.get(args.gaps)
        files = line_up(files, gaps, args.gaps == "only")
    if text is not None:
        files[0] = with_words(files[0], text)
    return files


def scorer_of(args: argparse.Namespace, gold: TagFile, predicted: Sequence[TagFile]) -> Scorer:
    """
    The scorer of the format, for the files that were read.

    # Raises

    `UserError`: no sentence with both tags to explain, scores that are all the same.
    """
    if args.format == "wmt-spans":
        return SPANS
    if args.format == "wmt-explanations":
        if not any(len(set(tags)) == 2 for tags in gold.tags):
            raise UserError(f"{gold.path}: expected a sentence with both OK and BAD, got none")
        return EXPLANATIONS
    if args.format == "wmt-sentences":
        for file in (gold, *predicted):
            if len({score for (score,) in file.tags}) == 1:
                raise UserError(
                    f"{file.path}: expected scores that differ, got {file.tags[0][0]} for every sentence"
                )
        return CORRELATIONS
    kind = "gap" if args.gaps == "only" else check_systems([gold, *predicted])
    units = {"gap": "gaps", "source": "source words"}
    return replace(WORD_QE, unit=units[kind]) if kind in units else WORD_QE


def _read_spans(paths: Sequence[str], clip: bool, encoding: str) -> list[TagFile]:
    """The severities at the places of each text, as tags."""
    texts: list[list[SpannedText]] = []
    files: list[TagFile] = []
    for path in paths:
        system, sentences = read_error_spans(path, clip, encoding)
        texts.append(sentences)
        tagged = []
        for text, spans, line, _ in sentences:
            severities = severities_of(text, spans)
            tagged.append(TaggedSentence(severities, [line] * len(severities), None))
        files.append(TagFile(path, tagged, system=system))
        check_sentences(files[0], files[-1])
        for expected, got in zip(texts[0], sentences):
            if expected.text.strip() != got.text.strip():
                raise DataFormatError(
                    f"{path}:{got.line}: expected the text of {paths[0]}:{expected.line}, "
                    f"{quote(expected.text)}, got {quote(got.text)}"
                )
    check_systems(files)
    return files
