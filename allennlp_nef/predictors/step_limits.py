from typing import Any, NamedTuple

from allennlp.common import Params
from allennlp.common.checks import ConfigurationError

from allennlp_nef.data.metadata import TaggingMetadata
from allennlp_nef.errors import summary_of
from allennlp_nef.models import NefTagger
from allennlp_nef.models.nef_tagger import check_can_halt, has_steps
from allennlp_nef.modules.halting import Halting
from allennlp_nef.modules.options import is_integer
from allennlp_nef.predictors.requests import describe, request_error


class StepLimits(NamedTuple):
    """When sentences halt: `max_steps` and `halting`, fields of a request and options of a predictor."""

    max_steps: int | None = None
    halting: Halting | None = None

    @classmethod
    def of_request(cls, model: NefTagger, request: dict[str, Any], where: str) -> "StepLimits":
        """Those of a request. Raises `request_error`."""
        try:
            return cls._checked(model, request.get("max_steps"), request.get("halting"))
        except ConfigurationError as error:
            raise request_error(f"{where}{summary_of(error)}") from error

    @classmethod
    def of_options(cls, model: NefTagger, max_steps: Any, halting: Any) -> "StepLimits":
        """Those of a predictor. Raises `ConfigurationError`."""
        return cls._checked(model, max_steps, halting)

    @classmethod
    def _checked(cls, model: NefTagger, max_steps: Any, halting: Any) -> "StepLimits":
        for name, value in (("max_steps", max_steps), ("halting", halting)):
            if value is not None and not has_steps(getattr(model, "decoder", None)):
                raise ConfigurationError(
                    f"{name}: expected a model with the decoder neural_easy_first, got one without it"
                )
        if max_steps is not None and not is_integer(max_steps):
            raise ConfigurationError(
                f"max_steps: expected an integer of at least 1, got {describe(max_steps)}"
            )
        chosen = None if halting is None else _halting_of(halting)
        check_can_halt(chosen, getattr(model, "decoder", None))
        return cls(max_steps, chosen)

    def write_to(self, metadata: TaggingMetadata) -> None:
        """Sets what the metadata of a sentence leave open."""
        if metadata.max_steps is None:
            metadata.max_steps = self.max_steps
        if metadata.halting is None:
            metadata.halting = self.halting


def _halting_of(value: Any) -> Halting:
    names = Halting.list_available()
    kind = value.get("type") if isinstance(value, dict) else None
    # A name with dots would be imported.
    if kind not in names:
        got = describe(kind if isinstance(value, dict) and "type" in value else value)
        raise ConfigurationError(
            f"halting: expected an object whose type is one of {', '.join(names)}, got {got}"
        )
    for name, each in value.items():
        if name != "type" and type(each) not in (int, float, type(None)):
            raise ConfigurationError(f"halting: {name}: expected a number, got {describe(each)}")
        if name in ("steps", "max_steps") and each is not None and not is_integer(each):
            raise ConfigurationError(
                f"halting: {name}: expected an integer of at least 1, got {describe(each)}"
            )
    try:
        return Halting.from_params(Params(dict(value)))
    except (ConfigurationError, TypeError, ValueError) as error:
        raise ConfigurationError(f"halting: {summary_of(error)}") from error
