"""Callbacks of the trainer."""

import os
from typing import Any

from allennlp.common.checks import ConfigurationError
from allennlp.training import GradientDescentTrainer
from allennlp.training.callbacks import TrainerCallback

from allennlp_nef.pretrained.loading import (
    PACKAGED,
    TRANSFORMER_FOLDER,
    load_encoder,
    load_hub_tokenizer,
)
from allennlp_nef.pretrained.word_pieces import PretrainedTransformer


@TrainerCallback.register("save_transformer")
class SaveTransformer(TrainerCallback):
    """Writes the configuration and tokenizer of the model's pretrained transformer to the run folder.

    They are in the `transformer` folder. With `include_in_archive: ["transformer"]` in the config, loading the archive
    neither downloads the transformer nor looks for its folder. Does nothing for models without a transformer, and for
    `multilingual-e5-small`, which always comes from the `multilingual` extra.

    # Parameters

    with_weights : `bool`, optional (default = `False`)
        Whether to also write the pretrained weights. Use it with `save_weights: false`, because those archives omit
        them.

    # Raises

    `ConfigurationError`: a model with several transformers.
    """

    def __init__(self, serialization_dir: str, with_weights: bool = False) -> None:
        super().__init__(serialization_dir)
        self.with_weights = with_weights

    def on_start(
        self, trainer: GradientDescentTrainer, is_primary: bool = True, **kwargs: Any
    ) -> None:
        super().on_start(trainer, is_primary, **kwargs)
        modules = trainer.model.modules()
        transformers = [module for module in modules if isinstance(module, PretrainedTransformer)]
        if len({module.model_name for module in transformers}) > 1:
            raise ConfigurationError("save_transformer: the model has several transformers")
        if not transformers or not is_primary or transformers[0].model_name in PACKAGED:
            return
        name = transformers[0].model_name
        folder = os.path.join(self.serialization_dir, TRANSFORMER_FOLDER)
        encoder: Any = load_encoder(name) if self.with_weights else transformers[0].transformer
        (encoder.model if self.with_weights else encoder.model.config).save_pretrained(folder)
        load_hub_tokenizer(name).save_pretrained(folder)
