"""Neural easy-first sequence taggers for AllenNLP. Importing the package registers its components.

There are two exceptions:

- Where AllenNLP is not installed, nothing is registered. What needs torch alone, such as
  `allennlp_nef.nn.constrained_softmax`, can be imported; what needs AllenNLP says how to install it.
- The program `allennlp-nef` (`allennlp_nef_console.py`) imports the package without the components, and registers them
  itself before it runs a command that needs them. So its help texts, `score-tags` and `examples` start quickly, without
  importing torch and AllenNLP.
"""

import sys
from importlib.util import find_spec

from allennlp_nef.version import VERSION as __version__


def _registers_components() -> bool:
    console = sys.modules.get("allennlp_nef_console")
    if getattr(console, "imports_without_components", False):
        return False
    try:
        return find_spec("allennlp") is not None
    except ImportError:
        return False


if _registers_components():
    from allennlp_nef import components  # noqa: F401

__all__ = ["__version__"]
