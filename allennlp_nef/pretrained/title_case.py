"""Sentences in capitals, as the encoder reads them with `title_case`, in exported taggers, too."""


def in_title_case(words: list[str]) -> list[str]:
    """Returns the words of a sentence in capitals in title case, and those of other sentences unchanged."""
    return [word.capitalize() for word in words] if " ".join(words).isupper() else words
