from typing import Type

from allennlp.common import Registrable


def registered_name(base: Type[Registrable], instance: object) -> str:
    """The name under which the class of an instance is registered with `base`, or the name of the class."""
    for name in base.list_available():
        if base.by_name(name) is type(instance):
            return name
    return type(instance).__name__
