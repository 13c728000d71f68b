"""The `trained_model` initializer."""

from allennlp.nn.initializers import Initializer, PretrainedModelInitializer

from allennlp_nef.resources import archive_path


@Initializer.register("trained_model")
class TrainedModelInitializer(PretrainedModelInitializer):
    """AllenNLP's `pretrained` initializer, which also takes the names of the models that come with this package.

    # Parameters

    archive : `str`
        An archive, or the name of a trained model, such as "qe-multilingual".

    # Raises

    `UserError`: a name without a file or a model.
    """

    def __init__(self, archive: str) -> None:
        super().__init__(archive_path(archive))
