"""The vocabulary namespaces of affixes and the cases of words, for both their indexer and their embedder."""

CASES = ("lower", "upper", "capitalized", "mixed", "number", "alphanumeric", "other")


def affix_namespaces(namespace: str, max_length: int) -> tuple[list[str], list[str]]:
    """Vocabulary namespaces of the prefixes and of the suffixes of 1 to `max_length` characters."""
    lengths = range(1, max_length + 1)
    prefixes = [f"{namespace}_prefix_{length}" for length in lengths]
    return prefixes, [f"{namespace}_suffix_{length}" for length in lengths]


def case_of(word: str) -> str:
    """
    Which of the `CASES` a word is.

    A number has digits and no letters, an alphanumeric word has both. A capitalized word has no digits, and one
    upper-case letter, its first; "other" is punctuation, and words of scripts without case.
    """
    has_letter = any(map(str.isalpha, word))
    if any(map(str.isdigit, word)):
        return "alphanumeric" if has_letter else "number"
    if word.lower() == word.upper():  # no letters, or of a script without case
        return "other"
    if word.islower():
        return "lower"
    if word.isupper():
        return "upper" if sum(map(str.isalpha, word)) > 1 else "capitalized"
    return "capitalized" if word[0] != word[0].lower() and word[1:].islower() else "mixed"
