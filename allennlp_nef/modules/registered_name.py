from allennlp.common import Registrable


def registered_name(base: type[Registrable], component: object) -> str:
    """The name under which a class, or that of an instance, is registered with `base`, or the name of the class."""
    kind = component if isinstance(component, type) else type(component)
    for name in base.list_available():
        if base.by_name(name) is kind:
            return name
    return kind.__name__
