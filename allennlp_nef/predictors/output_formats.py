from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader

from allennlp_nef.data.dataset_readers import TaggingReader, Writer


def writer_of(reader: TaggingReader, output_format: str) -> Writer | None:
    """The writer of a format; None for "json". Raises `ConfigurationError` where the reader has no such writer."""
    if output_format == "json" or output_format in reader.writers:
        return reader.writers.get(output_format)
    readers = {name: DatasetReader.by_name(name) for name in DatasetReader.list_available()}
    others = [
        name for name, each in readers.items() if output_format in getattr(each, "writers", ())
    ]
    if others:
        raise ConfigurationError(
            f"output_format: {output_format} needs a model whose dataset_reader is {' or '.join(others)}, got "
            f"{type(reader).__name__}"
        )
    raise ConfigurationError(
        f"output_format: expected one of {', '.join(['json', *reader.writers])}, got {output_format!r}"
    )
