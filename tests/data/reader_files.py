"""Helpers for tests of dataset readers: readers from options, the places in errors, warnings."""

import re

import pytest
from allennlp.common import Params
from allennlp.data import DatasetReader
from hypothesis import HealthCheck, settings

import allennlp_nef.components  # noqa: F401
from allennlp_nef.errors import DataFormatError

PROPERTY = settings(
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def make(name, **options):
    return DatasetReader.from_params(Params({"type": name, **options}))


def read(reader, path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return list(reader.read(str(path)))


def line_of(message, *paths):
    """The line number in an error about one of some files."""
    names = "|".join(re.escape(str(path)) for path in paths)
    match = re.fullmatch(rf"({names}):(\d+): (.*expected .*)", message, re.DOTALL)
    assert match, message
    return int(match[2])


def error_line(reader, path, text):
    """The line number in the error that a reader raises for the text of a file."""
    with pytest.raises(DataFormatError) as info:
        read(reader, path, text)
    return line_of(str(info.value), path)


def words_of(instance, name="tokens"):
    return [token.text for token in instance[name]]


def labels_of(instance, name="tags"):
    return instance[name].labels if name in instance.fields else None


def warnings_of(caplog):
    """The warnings of this package."""
    records = [r for r in caplog.records if r.name.startswith("allennlp_nef")]
    return [r.getMessage() for r in records if r.levelname == "WARNING"]
