"""The record of a sentence and its translation, which every reader makes and every predictor and writer uses."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from allennlp_nef.data.sentence import Sentence
from allennlp_nef.qe.aligner import WordAligner
from allennlp_nef.qe.checks import Code
from allennlp_nef.qe.layouts import EOS, Link, tagged_side, without_eos
from allennlp_nef.qe.spans import ErrorSpan


@dataclass(slots=True, eq=False)
class TranslatedSentence:
    """A sentence, its translation, and what is known about them. Unknown fields are None or empty."""

    source: Sentence
    target: Sentence
    """The translation, whose words optionally end in `<EOS>`."""
    links: list[Link] | None = None
    """Pairs (source index, target index), from 0; empty if nothing is aligned."""
    links_from: str = "given"
    """The origin of the links: "given", "computed" by an aligner, or "none"."""
    tokens: list[str] = field(default_factory=list)
    """The tokens that are tagged: by default the words of the target; see `layouts.tagged_side`."""
    tags: list[str] | None = None
    """The gold tag of each of the tokens."""
    spans: list[ErrorSpan] | None = None
    """The errors in the text of the target."""
    omission: str | None = None
    """The severity of an omission that has no place in the text."""
    score: float | None = None
    """The quality of the translation: HTER, or 1 - ESA / 100; in a file of error spans, the number in the file."""
    judgment: float | None = None
    """The direct assessment of the translation, as a z-score; higher is better."""
    critical: float | None = None
    """The share of annotators who found a critical error."""
    name: str = ""
    """The name or number of the segment in its file or document, such as "unit 7"."""
    source_language: str | None = None
    target_language: str | None = None
    may_omit_number: bool = False
    """Whether the translation is a plural form for so few numbers that it may lack the number."""
    codes: tuple[Sequence[Code], Sequence[Code]] | None = None
    """The inline codes of the source and the target in their file."""
    document: str = ""
    system: str = ""
    domain: str = ""
    protocol: str = "ESA"
    decision: str | None = None
    """A reviewer's decision: "accept" or "reject"."""
    note: str = ""
    """A reviewer's note, a single line."""
    error: str | None = None
    """Why the segment cannot be used, such as several translations into one language."""

    @property
    def words(self) -> list[str]:
        return self.tokens

    @property
    def texts(self) -> tuple[str, str]:
        """The texts of the source and the target. Words are joined by spaces."""
        source, target = (
            " ".join(each.words) if each.text is None else each.text
            for each in (self.source, self.target)
        )
        return source, target

    @property
    def place(self) -> str:
        """The file and line of the translation, such as "a.tsv:3"."""
        return f"{self.target.path}:{self.target.lines[0]}"

    def sides(self, tagged: str, eos: bool) -> tuple[list[str], list[str], Sequence[Link]]:
        """Returns the tokens to be tagged, the words of the other side, and the links between them: see `tagged_side`.
        With `eos`, the translation ends in `<EOS>`."""
        words = self.target.words
        return tagged_side(
            tagged,
            self.source.words,
            [*without_eos(words), EOS] if eos else words,
            self.links or (),
        )

    @property
    def estimates(self) -> list[float]:
        """The gold scores of the sentence in the order of `answers.ESTIMATES`, from 0 to 1; NaN if unknown."""
        quality = (
            None if self.judgment is None else 0.5 + 0.5 * math.tanh(self.judgment / 2)
        )  # sigmoid
        known = self.score, quality, self.critical
        return [math.nan if each is None else each for each in known]

    def align(self, aligner: WordAligner | None) -> None:
        """Adds links if there are none, those of the aligner."""
        if self.links is None:
            self.links_from = "computed" if aligner else "none"
            words = without_eos(self.target.words)
            self.links = aligner.align(self.source.words, words) if aligner else []

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def to_json(self) -> dict[str, Any]:
        """Returns the known fields, for `allennlp evaluate --predictions-output-file`."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        values |= {name: values[name].to_json() for name in ("source", "target")}
        return {name: value for name, value in values.items() if value not in (None, "", [])}
