import os
from typing import Any

from allennlp.training.callbacks import TrainerCallback
from overrides import overrides

from allennlp_nef.modules.input_representations import TransformerPairRepresentation
from allennlp_nef.resources import TRANSFORMER_NAME


@TrainerCallback.register("save_transformer")
class SaveTransformer(TrainerCallback):
    """Keeps the configuration and the tokenizer of a `transformer_pair` with the model, which has only its weights.

    It writes them into `transformer` in the folder of the run, before the first epoch. With that folder in
    `include_in_archive` of the config, the archive needs neither a download nor the folder of the pretrained
    transformer. For other models it writes nothing.

    Registered as a `TrainerCallback` with name "save_transformer".
    """

    @overrides(check_signature=False)
    def on_start(self, trainer: Any, is_primary: bool = True, **kwargs: Any) -> None:
        super().on_start(trainer, is_primary, **kwargs)
        for module in trainer.model.modules() if is_primary else ():
            if isinstance(module, TransformerPairRepresentation):
                folder = os.path.join(self.serialization_dir, TRANSFORMER_NAME)
                module.transformer.config.save_pretrained(folder)
                module.tokenizer.save_pretrained(folder)
