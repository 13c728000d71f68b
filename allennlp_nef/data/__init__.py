"""File formats, fields, token indexers and dataset readers.

The names of `__all__` are imported when they are asked for, so that `allennlp_nef.data.formats` does not need AllenNLP.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from allennlp_nef.data.dataset_readers import ConllTagsReader, ConlluTagsReader, WmtWordQeReader

__all__ = ["ConllTagsReader", "ConlluTagsReader", "WmtWordQeReader"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module(f"{__name__}.dataset_readers"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
