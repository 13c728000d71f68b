"""Neural easy-first sequence taggers for AllenNLP. Importing the package registers its components.

There is one exception: the program `allennlp-nef` (`allennlp_nef_console.py`) imports the package without the
components, and registers them itself before it runs a command that needs them. So its help texts, `score-tags` and
`examples` start quickly, without importing torch and AllenNLP.
"""

import sys

from allennlp_nef.version import VERSION as __version__

_console = sys.modules.get("allennlp_nef_console")
if not getattr(_console, "imports_without_components", False):
    from allennlp_nef import components  # noqa: F401

__all__ = ["__version__"]
