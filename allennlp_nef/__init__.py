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
from typing import Any

import _allennlp_nef_start  # noqa: F401  # first: AllenNLP's modules go through `compat`
from allennlp_nef import compat
from allennlp_nef.version import VERSION as __version__


def load(archive: str, cuda_device: int = -1, **options: Any) -> Any:
    """The predictor of a trained model. The archive cannot run code, unless it is trusted.

        from allennlp_nef import load
        print(load("model.tar.gz").predict("They saw her duck .")["tags"])
        print(load("qe-en-de").predict(source="Good morning !", target="Guten Morgen !")["tags"])

    # Parameters

    archive : `str`
        The archive (`model.tar.gz`), the folder of a training run, or the name of a trained model of this package.
    cuda_device : `int`, optional (default = `-1`)
        The number of a GPU, or -1 for the CPU.
    options
        `name`, the registered name of another predictor than the default of the model; `trust=True` for an archive that
        may run code; `overrides`, changes to its config; and the options of the predictor.

    # Raises

    What `allennlp_nef.predictors.archives.load_predictor` raises.
    """
    from allennlp_nef.predictors.archives import load_predictor

    return load_predictor(archive, cuda_device, **{"name": None, **options})


def _registers_components() -> bool:
    console = sys.modules.get("allennlp_nef_console")
    if getattr(console, "imports_without_components", False):
        return False
    try:
        return find_spec("allennlp") is not None
    except ImportError:  # a finder that hides it
        return False


if _registers_components():
    from allennlp_nef import components  # noqa: F401
    from allennlp_nef.cli import subcommands  # noqa: F401

__all__ = ["__version__", "compat", "load"]
