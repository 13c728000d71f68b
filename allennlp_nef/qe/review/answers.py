"""Reads the answers of `predict` for the segments of bitexts."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from allennlp_nef.data.files import read_objects
from allennlp_nef.data.sentence import find_words
from allennlp_nef.errors import DataFormatError, describe, quote
from allennlp_nef.qe.answers import SCORES
from allennlp_nef.qe.bitext.segments import Answer, note_of
from allennlp_nef.qe.layouts import BAD, EOS, OK, SEVERITIES
from allennlp_nef.qe.review.report import item_of
from allennlp_nef.qe.review.summary import row_of
from allennlp_nef.qe.spans import join_bad_words
from allennlp_nef.qe.translated_sentence import TranslatedSentence


def read_answers(
    path: str, segments: Sequence[TranslatedSentence], order_by: str | None = None
) -> Iterator[Answer]:
    """
    Yields the answers in a file, one per segment, without the findings of checks.

    # Parameters

    path : `str`
        JSON lines, as `predict` writes them.
    segments : `Sequence[TranslatedSentence]`
    order_by : `str`, optional (default = `None`)
        An estimate that all answers must have.

    # Raises

    `DataFormatError`: a line is not an answer about its segment, or lacks the estimate, or there are more or fewer than
    segments.
    """
    for count, (segment, item) in enumerate(zip_longest(segments, read_objects(path))):
        if segment is None or item is None:
            got = count if item is None else "more"
            expected = f"{len(segments)} answers, one for each segment"
            raise DataFormatError(f"{path}: expected {expected}, got {got}")
        number, answer = item
        if segment.error or "error" in answer:
            yield {"error": segment.error or str(answer["error"])}
            continue
        try:
            note_of(segment, answer)
            placed = _placed(segment, answer)
            row_of(placed), item_of(segment, placed, (OK, BAD, *SEVERITIES))
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            expected = f"an answer of `predict` for {segment.place} ({describe(error)})"
            raise DataFormatError(f"{path}:{number}: expected {expected}") from None
        if order_by is not None and order_by not in answer:
            raise DataFormatError(f"{path}:{number}: expected {order_by} for --order-by, got none")
        yield placed


def _placed(segment: TranslatedSentence, answer: Answer) -> Answer:
    """
    Returns an answer with the positions of its words in the texts of a segment.

    Spans of an answer to lists of words are positions in the words joined by spaces; they are determined again. Raises
    an error if the answer is about another text, or a span is not within the text.
    """
    source, target = segment.texts
    tokens, tags, bad = answer["tokens"], answer["tags"], answer["bad_probabilities"]
    # An <EOS> that the model added represents text that is missing at the end.
    number = len(tokens) - (tokens[-1:] == [EOS] and not target.endswith(EOS))
    offsets = [*find_words(target, tokens[:number]), *[(len(target),) * 2] * (len(tokens) - number)]
    sources = find_words(source, answer.get("source") or source.split())
    placed = {**answer, "offsets": offsets, "source_offsets": sources, "checks": []}
    length = len(target if "offsets" in answer else " ".join(tokens))
    for each in (*answer["spans"], *answer.get("checks", ())):
        SEVERITIES.index(each.get("severity", SEVERITIES[0]))
        if not 0 <= each["start"] <= each["end"] <= length:
            raise ValueError(f"a span from {each['start']} to {each['end']} of {length} characters")
    if text := target[offsets[-1][1] if offsets else 0 :].strip():
        raise ValueError(f"expected a word for {quote(text)}")
    if not all(0 <= probability <= 1 for probability in bad):
        raise ValueError("expected bad_probabilities from 0 to 1")
    for name in (*SCORES, "threshold", "critical_error_threshold"):
        highest = 100 if name == "quality" else 1
        if name in answer and not 0 <= answer[name] <= highest:
            raise ValueError(f"expected {name} from 0 to {highest}, got {answer[name]}")
    if not isinstance(answer.get("threshold_from", ""), str):
        raise ValueError("expected threshold_from to be a string")
    if "offsets" not in answer:
        placed["spans"] = join_bad_words(target, offsets, tags, bad)
    return placed
