import os
from typing import Any

from allennlp.common.checks import ConfigurationError
from allennlp.training.callbacks import TrainerCallback
from overrides import overrides

from allennlp_nef.errors import quote
from allennlp_nef.modules.pretrained_transformer import PretrainedTransformer
from allennlp_nef.resources import TRANSFORMER_NAME


@TrainerCallback.register("save_transformer")
class SaveTransformer(TrainerCallback):
    """Keeps the configuration and the tokenizer of `transformer_pair` or `word_pieces` with the model, which has only
    the weights.

    It writes them into `transformer` in the folder of the run, before the first epoch. With that folder in
    `include_in_archive` of the config, the archive needs neither a download nor the folder of the pretrained
    transformer. For other models it writes nothing.

    Registered as a `TrainerCallback` with name "save_transformer".

    # Raises

    `ConfigurationError`: a model with transformers of several names.
    """

    @overrides(check_signature=False)
    def on_start(self, trainer: Any, is_primary: bool = True, **kwargs: Any) -> None:
        super().on_start(trainer, is_primary, **kwargs)
        transformers = {
            module.model_name: module
            for module in trainer.model.modules()
            if isinstance(module, PretrainedTransformer)
        }
        if len(transformers) > 1:
            names = " and ".join(map(quote, transformers))
            raise ConfigurationError(
                f"model_name: expected one transformer in a model, got {names}"
            )
        for module in transformers.values() if is_primary else ():
            folder = os.path.join(self.serialization_dir, TRANSFORMER_NAME)
            module.transformer.config.save_pretrained(folder)
            module.tokenizer.save_pretrained(folder)
