"""Neural easy-first sequence taggers for AllenNLP. Importing the package registers its components."""

from allennlp_nef import _stack  # noqa: F401  # first: says what to install

# isort: split
from allennlp_nef import commands, data, metrics, models, modules, predictors  # noqa: F401
