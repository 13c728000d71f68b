from typing import Any

from allennlp_nef.errors import UserError


def unsupported(part: str, found: Any, expected: str) -> UserError:
    """The error for a part of a tagger that cannot be exported."""
    name = found if isinstance(found, str) else type(found).__name__
    return UserError(f"{part}: expected {expected}, which can be exported, got {name}")
