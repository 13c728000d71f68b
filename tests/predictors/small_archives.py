"""Archives of a small quality estimator that was not trained, with changed files and with members of any kind."""

import io
import json
import tarfile

import torch

from tests.models.tagging.small_tagger import VOCAB, config_of, make

REQUEST = {"source": "der Hund", "target": "the dog"}


def save_run(folder):
    """Writes the folder of a run; returns its config."""
    folder.mkdir()
    VOCAB.save_to_files(str(folder / "vocabulary"))
    torch.save(make().state_dict(), str(folder / "best.th"))
    config = {"dataset_reader": {"type": "wmt_word_qe"}, "model": config_of()}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "meta.json").write_text('{"version": "2.10.1"}', encoding="utf-8")
    return config


def member(name, content=b"", **fields):
    """A member of a tar file, and its content."""
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for field, value in fields.items():
        setattr(info, field, value)
    return info, content


def write_members(path, members):
    with tarfile.open(str(path), "w:gz", compresslevel=1) as archive:
        for info, content in members:
            archive.addfile(info, io.BytesIO(content))
    return path


def files_of(path):
    """The contents of the files of an archive, by their names."""
    with tarfile.open(str(path)) as archive:
        members = [member for member in archive if member.isfile()]
        return {member.name: archive.extractfile(member).read() for member in members}


def write_files(path, files):
    """Writes an archive of files; returns its path."""
    return write_members(path, [member(*item) for item in files.items()])


def members_of(run, **files):
    """The members of a run's archive, with other contents for some files, such as `config_json` or `weights_th`."""
    changed = {".".join(name.rsplit("_", 1)): content for name, content in files.items()}
    for file in sorted(run.rglob("*")):
        name = file.relative_to(run).as_posix().replace("best.th", "weights.th")
        if file.is_file():
            yield member(name, changed.get(name, file.read_bytes()))


def with_value(config, place, value):
    """A copy of a config, with another value at a place such as `model.metrics.0`."""
    copy = json.loads(json.dumps(config))
    *parents, last = place.split(".")
    part = copy
    for parent in parents:
        part = part.setdefault(parent, {})
    part[last] = value
    return copy
