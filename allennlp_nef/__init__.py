"""Neural easy-first sequence taggers for AllenNLP. Importing the package registers its components."""

import sys
from typing import Any

import _allennlp_nef_start  # first: AllenNLP's modules are loaded by way of `compat`
from allennlp_nef import compat

compat.require_allennlp()

if not _allennlp_nef_start.is_program:  # its commands import components if they need them
    from allennlp_nef import components  # noqa: F401
if "allennlp.commands" in sys.modules:  # a plugin of the program `allennlp`
    from allennlp_nef.cli import subcommands  # noqa: F401
from allennlp_nef.version import VERSION as __version__


def load(archive: str, cuda_device: int = -1, **options: Any) -> Any:
    """Loads the predictor of a trained model. This never runs code from the archive unless `trust=True`.

        from allennlp_nef import load
        print(load("model.tar.gz").predict("They saw her duck .")["tags"])
        print(load("ner-multilingual").predict("Anna Berg works in Oslo.")["spans"])

    # Parameters

    archive : `str`
        An archive (`model.tar.gz`), a run folder, or the name of a trained model of this package.
    cuda_device : `int`, optional (default = `-1`)
        The GPU number, or -1 for the CPU.
    options
        `name`, the registered name of a predictor other than the model's default; `trust=True` to skip the safety
        checks; `overrides`, changes to the config in the archive; and the options of the predictor.

    # Raises

    `UserError`: see `allennlp_nef.archives.load_predictor`.
    """
    from allennlp_nef import components  # noqa: F401
    from allennlp_nef.archives import load_predictor

    return load_predictor(archive, cuda_device, **options)


__all__ = ["__version__", "load"]
