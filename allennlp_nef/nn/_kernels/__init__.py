"""Kernels compiled by numba (the extra `fast`) for what lies between matrix products: float32, on CPUs.

Each small operation of torch costs more to start than to do. A kernel does a dozen of them at once, on numbers that are
in the cache. The forms in torch are what kernels are tested against, and what runs where there is no numba.

- `arithmetic`: exponential and tanh; `rows`: operations on rows of numbers.
- `csoftmax`: the constrained softmax and its backward pass.
- `full` and `single`: the steps of NEF-F and of NEF-S.
- `linear_chain`: the CRF; `additive`: additive attention.
"""

import logging
import os
from functools import cache

import torch

logger = logging.getLogger(__name__)
VARIABLE = "ALLENNLP_NEF_NUMBA"
"""The environment variable that turns kernels off: "0"."""


@cache
def is_available() -> bool:
    """Whether kernels are used: numba is installed, and the environment variable `ALLENNLP_NEF_NUMBA` is not "0"."""
    if os.environ.get(VARIABLE) == "0":
        return False
    try:
        import numba  # noqa: F401
    except ImportError as error:
        if error.name != "numba":  # it is installed, but with a NumPy that is too new for it, say
            logger.warning(
                "The decoder, the CRF and additive attention run without compiled kernels: %s",
                error,
            )
        return False
    return True


def have_kernels(*tensors: torch.Tensor) -> bool:
    """Whether there are kernels for these tensors: float32, on a CPU."""
    return all(have_kernels_for(tensor.dtype, tensor.device) for tensor in tensors)


def have_kernels_for(dtype: torch.dtype, device: torch.device) -> bool:
    """Whether there are kernels for tensors of this type on this device."""
    return dtype == torch.float32 and device.type == "cpu" and is_available()
