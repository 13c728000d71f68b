from typing import Any, NamedTuple

from allennlp_nef.data.formats.characters import refused_word
from allennlp_nef.data.formats.word_alignments import check_alignments, parse_alignments
from allennlp_nef.errors import UserError, quote

MAX_TOKENS = 1000
EOS = "<EOS>"


class Sentence(NamedTuple):
    """A checked request."""

    tokens: list[str]
    """The words that are tagged."""
    source: list[str]
    alignments: list[tuple[int, int]] | None = None
    """Pairs (source index, target index), from 0; None where the request has none."""
    alignments_from: str = "given"
    threshold: float | None = None
    id: Any = None
    """That of the request, a JSON value; None where it has none."""


def parse_request(request: Any, is_pair: bool, where: str) -> Sentence:
    """Checks a request, decoded from JSON. Raises a `UserError` whose message begins with `where`."""
    required = ["source", "target"] if is_pair else ["sentence", "tokens"]
    optional = ["alignments", "threshold", "id"] if is_pair else ["id"]
    needed = "the fields source and target" if is_pair else "the field sentence or tokens"
    if not isinstance(request, dict):
        raise UserError(f"{where}expected an object, got {quote(request)}")
    for name in request:
        if name not in required and name not in optional:
            raise UserError(
                f"{where}expected {needed} (optional: {', '.join(optional)}), got {quote(name)}"
            )
    own_id = request.get("id")
    if not is_pair:
        given = [name for name in required if request.get(name) is not None]
        if len(given) != 1:
            got = "both" if given else "neither"
            raise UserError(f"{where}expected one of the fields sentence and tokens, got {got}")
        return Sentence(_words(request, given[0], where), [], id=own_id)
    source, target = (_words(request, name, where) for name in ("source", "target"))
    threshold = request.get("threshold")
    if threshold is not None and not (type(threshold) is float and 0 < threshold < 1):
        raise UserError(
            f"{where}threshold: expected a number above 0 and below 1, got {quote(threshold)}"
        )
    words = without_eos(target)
    if not words or EOS in [*source, *words]:
        raise UserError(f"{where}expected {EOS} at the end of a target alone, got it elsewhere")
    links = _links(request.get("alignments"), len(source), len(words), where)
    return Sentence(target, source, links, threshold=threshold, id=own_id)


def without_eos(words: list[str]) -> list[str]:
    """The words of a translation, without a final `<EOS>`."""
    return words[:-1] if words[-1:] == [EOS] else words


def _words(request: dict[str, Any], name: str, where: str) -> list[str]:
    value = request.get(name)
    words = value.split() if isinstance(value, str) else value
    if not isinstance(words, list):
        raise UserError(f"{where}{name}: expected a string or a list of words, got {quote(value)}")
    if not words:
        raise UserError(f"{where}{name}: expected at least one word, got {quote(value)}")
    if len(words) > MAX_TOKENS:
        raise UserError(f"{where}{name}: expected at most {MAX_TOKENS} words, got {len(words)}")
    for word in words:
        if not isinstance(word, str) or not (isinstance(value, str) or _is_word(word, name)):
            raise UserError(f"{where}{name}: expected words without whitespace, got {quote(word)}")
    refused = refused_word(words)
    if refused:
        raise UserError(f"{where}{name}: {refused.reason} at index {refused.position}")
    return words


def _is_word(text: str, field: str) -> bool:
    """As the predictors have it: CoNLL-U has words with no-break spaces in them."""
    return (
        not set(" \t\r\n\f\v").intersection(text) if field == "tokens" else text.split() == [text]
    )


def _links(
    value: Any, source_length: int, target_length: int, where: str
) -> list[tuple[int, int]] | None:
    """Pairs from `"0-0 1-2"`, `["0-0", "1-2"]`, `[[0, 0], [1, 2]]` or None."""
    if value is None:
        return None
    if not isinstance(value, (str, list)):
        raise UserError(f"{where}alignments: expected a string or a list, got {quote(value)}")
    rest = source_length, target_length, f"{where}alignments"
    links: list[tuple[int, int]] = []
    for item in [value] if isinstance(value, str) else value:
        if isinstance(item, str):
            links += parse_alignments(item, *rest)
        else:
            links += check_alignments([item], *rest)
    return links
