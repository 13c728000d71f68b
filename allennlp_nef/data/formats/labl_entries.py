"""
Entries of the package labl: answers of quality estimation as entries, and entries as segments.

An entry of labl (https://github.com/gsarti/labl, the extra `labl`) is a text with labels, of spans and of tokens. A
`LabeledEntry` has the labels of one annotator, or of a model. An `EditedEntry` has a translation and its correction,
and labels the words that were edited. Lists of them are for several annotators, or several corrections, of one text.

As segments (`wmt_segments`) they are data of the reader `wmt_word_qe` and of `score-tags`; `format_segment` writes
them.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from allennlp_nef.data.formats.characters import find_words
from allennlp_nef.data.formats.error_spans import SEVERITIES, ErrorSpan, checked_span
from allennlp_nef.data.formats.wmt_layouts import EOS
from allennlp_nef.data.formats.wmt_segments import Segment
from allennlp_nef.errors import DataFormatError, needing, quote

if TYPE_CHECKING:
    from labl import EditedEntry, LabeledDataset, LabeledEntry
    from labl.data.edited_entry import MultiEditEntry
    from labl.data.labeled_entry import MultiLabelEntry

LABELS = ("severities", "probabilities")
"""What the labels of entries may be."""
SEVERITY_OF_LABEL: dict[object, str | None] = {
    **{severity: severity for severity in SEVERITIES},
    "critical": SEVERITIES[-1],
    "BAD": SEVERITIES[-1],
    "OK": None,
}
"""The severity of each label of a `LabeledEntry`; None for one that is no error."""
_SCORES = ("sentence_score", "error_free_probability", "accept")


def entries_of_answers(
    requests: Sequence[Mapping[str, Any]],
    answers: Sequence[Mapping[str, Any]],
    labels: str = "severities",
) -> "LabeledDataset":
    """The `LabeledEntry` of each answer of the predictor `word_qe`, with its tokens, their offsets and its spans.

    `info` has the source, as `src`, and where the answer has them `sentence_score`, `error_free_probability` and
    `accept`. `<EOS>` is no token; if it is BAD, that is an empty span at the end.

    # Parameters

    requests : `Sequence[Mapping[str, Any]]`
        Those of the answers: `source` and `target`, strings or lists of words.
    labels : `str`, optional (default = `"severities"`)
        One of `LABELS`: spans and words that are BAD have their severity, other words None; or spans have their
        probability, and all words that of BAD.

    # Raises

    `DataFormatError`: another number of requests than of answers, an unknown kind of labels, an answer in which not the
    words of the translation are tagged. `MissingExtraError`: labl is not installed.
    """
    with needing("labl", "entries_of_answers"):
        from labl import LabeledDataset, LabeledEntry
        from labl.utils.span import Span

    if labels not in LABELS:
        raise DataFormatError(f"labels: expected {' or '.join(LABELS)}, got {quote(labels)}")
    if len(requests) != len(answers):
        raise DataFormatError(
            f"answers: expected as many as requests, {len(requests)}, got {len(answers)}"
        )
    entries = []
    for number, (request, answer) in enumerate(zip(requests, answers), 1):
        if "spans" not in answer:
            raise DataFormatError(
                f"answers: expected the field spans in answer {number}, which a model has that tags the translation, "
                f"got {quote(', '.join(answer))}"
            )
        source, text = (
            side if isinstance(side, str) else " ".join(side)
            for side in (request["source"], request["target"])
        )
        tokens = list(answer["tokens"])
        if tokens[-1] == EOS and text.split()[-1:] != [EOS]:
            tokens.pop()
        places = answer.get("offsets") or find_words(text, tokens)
        offsets = [tuple(place) for place in places[: len(tokens)]]
        name = "severity" if labels == "severities" else "probability"
        spans = [Span(s["start"], s["end"], s[name], s["text"]) for s in answer["spans"]]
        token_labels: list[str | float | None] = list(answer["bad_probabilities"][: len(tokens)])
        if labels == "severities":
            token_labels = [
                next((span.label for span in spans if span.start < end and start < span.end), None)
                for start, end in offsets
            ]
        # The one constructor that takes tokens as well as spans.
        entry = {
            "_class": "LabeledEntry",
            "info": {"src": source, **{key: answer[key] for key in _SCORES if key in answer}},
            "text": text,
            "tagged": LabeledEntry.get_tagged_from_spans(text, spans),
            "tokens": tokens,
            "tokens_labels": token_labels,
            "tokens_offsets": offsets,
            "spans": spans,
        }
        entries.append(LabeledEntry.from_dict(entry))
    return LabeledDataset(entries)


def segments_of_entries(
    entries: "Iterable[LabeledEntry | EditedEntry | MultiLabelEntry | MultiEditEntry]",
    pair: str,
    sources: Sequence[str] | None = None,
    severities: Mapping[Any, str | None] | None = None,
) -> list[Segment]:
    """The segments of entries. Of several annotators, or corrections, each has a segment of its own, as its `round`.

    Of a `LabeledEntry`, errors are its spans, and the labeled tokens that no span covers. Of an `EditedEntry`, they are
    the words that were changed or taken out. What was put in is an omission: an empty span before the next word, or at
    the end; where gaps were merged it is the label of the next word. Adjacent tokens of a severity are one span. An
    empty span at the end is the `omission` of the segment.

    From the `info` of an entry come `src`, `doc_id`, `line_id`, `system`, `domain`, `annotator` and `esa_score`, as far
    as it has them. Without `line_id` the segments are numbered, and without `doc_id` each is a document.

    # Parameters

    pair : `str`
        The languages, such as `en-de`.
    sources : `Sequence[str]`, optional (default = `None`)
        The source of each entry, where its `info` has no `src`.
    severities : `Mapping[Any, str | None]`, optional (default = `None`)
        The severities of more labels, "minor" or "major", or None for one that is no error. Those of `LabeledEntry` are
        otherwise `SEVERITY_OF_LABEL`, and every edit is major.

    # Raises

    `DataFormatError`: no source, another number of sources than of entries, a label without a severity, a span outside
    of its text. `MissingExtraError`: labl is not installed.
    """
    with needing("labl", "segments_of_entries"):
        from labl import EditedEntry

    entries = list(entries)
    if sources is not None and len(sources) != len(entries):
        raise DataFormatError(
            f"sources: expected as many as entries, {len(entries)}, got {len(sources)}"
        )
    segments = []
    for number, entry in enumerate(entries, 1):
        annotators = list(entry) if isinstance(entry, list) else [entry]
        for index, one in enumerate(annotators, 1):
            where, info = f"entry {number}", one.info
            source = info.get("src") if sources is None else sources[number - 1]
            if not isinstance(source, str):
                raise DataFormatError(f"{where}: expected a source (sources, or src in its info)")
            labeled = one.orig if isinstance(one, EditedEntry) else one
            spans, omission = _errors(one, labeled, severities or {}, where)
            line = str(info.get("line_id", number))
            segment = Segment(
                pair,
                str(info.get("doc_id", line)),
                line,
                str(info.get("system", "labl")),
                number,
                domain=str(info.get("domain", "")),
                source=source,
                target=labeled.text,
                spans=spans,
                omission=omission,
                score=info.get("esa_score"),
                round=str(info.get("annotator", index if len(annotators) > 1 else "")),
            )
            segments.append(segment)
    return segments


def _errors(
    entry: "LabeledEntry | EditedEntry",
    labeled: "LabeledEntry",
    severities: Mapping[Any, str | None],
    where: str,
) -> tuple[list[ErrorSpan], str | None]:
    """The errors of an entry, and the severity of an omission at the end. `labeled` is that of the translation."""
    is_edited = labeled is not entry

    def severity_of(label: object) -> str | None:
        known = {None: None, **({} if is_edited else SEVERITY_OF_LABEL), **severities}
        if is_edited:
            return known.get(label, SEVERITIES[-1])
        if label not in known:
            names = ", ".join(str(name) for name in known if name is not None)
            raise DataFormatError(
                f"{where}: expected a label among {names}, or one that severities names, got {quote(label)}"
            )
        return known[label]

    text = labeled.text
    # labl keeps of labeled tokens at most the last span.
    own_spans = [] if is_edited else labeled.spans
    errors = [(span.start, span.end, severity_of(span.label)) for span in own_spans]
    starts = []  # where each token begins; of a gap, where the next token does
    start = len(text)
    for offset in reversed(labeled.tokens_offsets):
        start = start if offset is None else offset[0]
        starts.append(start)
    is_open = False  # whether the next token may be part of the last error
    for label, offset, start in zip(labeled.tokens_labels, labeled.tokens_offsets, starts[::-1]):
        if offset is None and label is None:
            continue  # a gap
        end = start if offset is None else offset[1]
        is_covered = any(span.start < end and start < span.end for span in own_spans)
        severity = None if is_covered else severity_of(label)
        if is_open and offset is not None and severity == errors[-1][2]:
            errors[-1] = (errors[-1][0], end, severity)
        elif severity is not None:
            errors.append((start, end, severity))
        is_open = severity is not None and offset is not None
    spans = sorted(ErrorSpan(a, b, severity) for a, b, severity in errors if severity is not None)
    for span in spans:
        checked_span(span, text, where)
    omissions = [span.severity for span in spans if span.start == len(text)]
    omission = max(omissions, key=SEVERITIES.index, default=None)
    return [span for span in spans if span.start < len(text)], omission
