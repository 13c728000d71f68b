"""The `trained_model` initializer."""

from allennlp.models.archival import get_weights_path
from allennlp.nn.initializers import Initializer, PretrainedModelInitializer

from allennlp_nef.archives import checked_archive


@Initializer.register("trained_model")
class TrainedModelInitializer(PretrainedModelInitializer):
    """AllenNLP's `pretrained` initializer, which also takes the names of the models that come with this package.

    # Parameters

    archive : `str`
        An archive, or the name of a trained model, such as "qe-multilingual".

    # Raises

    `UserError`: a name without a file or a model. `ArchiveError`: see `allennlp_nef.archives.load_predictor`.
    """

    def __init__(self, archive: str) -> None:
        with checked_archive(archive) as folder:
            super().__init__(get_weights_path(folder))
