from os import PathLike
from typing import Any

from allennlp.common import Params
from allennlp.models import Model
from overrides import overrides

from allennlp_nef.saved_versions import naming_versions, record_versions


class VersionedModel(Model):
    """A model whose weights say which versions of this package and of torch saved them.

    An error in loading it ends with a line that names these versions and those in use. Weights without them load too.
    """

    @overrides(check_signature=False)
    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        state = super().state_dict(*args, **kwargs)
        record_versions(state)
        return state

    @classmethod
    @overrides
    def _load(
        cls,
        config: Params,
        serialization_dir: str | PathLike,
        weights_file: str | PathLike | None = None,
        cuda_device: int = -1,
    ) -> Model:
        with naming_versions(serialization_dir, weights_file):
            return super()._load(config, serialization_dir, weights_file, cuda_device)
