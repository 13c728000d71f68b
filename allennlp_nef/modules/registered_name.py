from typing import Type

from allennlp.common import Registrable


def registered_name(base: Type[Registrable], instance: object) -> str:
    """The name that the class of an instance is registered under with `base`; else the class's own name."""
    for name in base.list_available():
        if base.by_name(name) is type(instance):
            return name
    return type(instance).__name__
