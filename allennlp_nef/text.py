import unicodedata

# Categories and characters that XML or UTF-8 does not have.
_CONTROL = ("Cc", "Cs")
_NO_CHARACTERS = "\ufffe\uffff"


def printable(text: str) -> str:
    """A text on one line, with escapes for what cannot be printed."""
    return "".join(map(_printable, text))


def _printable(letter: str) -> str:
    if unicodedata.category(letter) in _CONTROL or letter in _NO_CHARACTERS:
        return letter.encode("unicode_escape").decode("ascii")
    return letter
