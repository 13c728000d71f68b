"""What `title_case` of the `word_pieces` indexer does, apart from torch, which exported taggers do not need."""


def in_title_case(words: list[str]) -> list[str]:
    """Returns the words of a sentence in capitals in title case, and those of other sentences unchanged."""
    return [word.capitalize() for word in words] if " ".join(words).isupper() else words
