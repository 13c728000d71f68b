import os
from collections.abc import Callable
from functools import lru_cache

from allennlp.common.checks import ConfigurationError

from allennlp_nef.data.aligners.aligner_files import load_aligner
from allennlp_nef.data.aligners.lexical_aligner import LexicalAligner
from allennlp_nef.data.aligners.lexicon import MIN_TRANSLATED, translated_words
from allennlp_nef.errors import DataFormatError

LANGUAGE_WORDS = 100
"""So many words are looked at to tell whether they are of the aligner's languages."""


class ReaderAligner:
    """The aligner of a dataset reader, for the sentences that come without alignments.

    # Parameters

    option : `bool` or `str`
        The path of an aligner's file. True and False: there is no aligner.

    # Raises

    `ConfigurationError`: another option, no file of an aligner.
    """

    def __init__(self, option: bool | str) -> None:
        self.aligner: LexicalAligner | None = None
        self._checked_words = self._translated_words = 0
        if isinstance(option, str):
            try:
                self.aligner = _loaded(option)
            except (DataFormatError, OSError) as error:
                raise ConfigurationError(f"aligner: {error}") from error
        elif not isinstance(option, bool):
            raise ConfigurationError(
                f"aligner: expected true, false or the path of a file, got {option!r}"
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
        if self._checked_words < LANGUAGE_WORDS:
            found, words = translated_words(self.aligner.lexicon.links, source, target)
            self._translated_words += found
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


def _loaded(path: str) -> LexicalAligner:
    """The aligner of a file. An archive's two readers share it."""
    status = os.stat(path) if os.path.isfile(path) else None
    return _cached(path, status and (status.st_mtime_ns, status.st_size))


@lru_cache(maxsize=1)
def _cached(path: str, state: tuple[int, int] | None) -> LexicalAligner:
    return load_aligner(path)
