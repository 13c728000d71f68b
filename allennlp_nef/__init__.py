"""Neural easy-first sequence taggers for AllenNLP. Importing the package registers its components."""

from allennlp_nef import _stack  # noqa: F401  # first: says what to install

# isort: split
from allennlp_nef import (  # noqa: F401
    commands,
    data,
    metrics,
    models,
    modules,
    predictors,
    training,
)
