"""The files of an archive, of which the config changes."""

import io
import json
import os
import tarfile
from pathlib import Path
from typing import Any, Dict

from allennlp.common.file_utils import cached_path
from allennlp.models.archival import CONFIG_NAME, archive_model, get_weights_path

from allennlp_nef.commands.output_files import writing
from allennlp_nef.errors import UserError


def read_config(archive: str) -> Dict[str, Any]:
    """The config of an archive, or of the folder of a run."""
    path = cached_path(archive)
    if os.path.isdir(path):
        return json.loads((Path(path) / CONFIG_NAME).read_text(encoding="utf-8"))
    with tarfile.open(path) as files:
        for member in files:
            if _is_config(member):
                return json.load(files.extractfile(member))  # type: ignore[arg-type]
    raise UserError(f"{archive}: expected an archive with the file {CONFIG_NAME}, got none")


def write_archive(archive: str, output: Path, model_option: str, value: Any) -> None:
    """Writes a copy of an archive, with another value of an option of the model.

    # Parameters

    archive : `str`
        An archive, or the folder of a run. Of a folder, the new archive has what AllenNLP archives of it, with the
        files of `include_in_archive`.
    output : `Path`
        Where it is a file, it is written over once all is written.
    model_option : `str`
    value : `Any`
        Of JSON.
    """
    config = read_config(archive)
    # A model that was made from an archive: the new archive needs its config, and not that archive.
    while config["model"].get("type") == "from_archive":
        config["model"] = read_config(config["model"]["archive_file"])["model"]
    config["model"][model_option] = value
    text = json.dumps(config, indent=4).encode("utf-8")
    path = cached_path(archive)
    with writing(output) as draft:
        if os.path.isdir(path):
            weights = os.path.basename(get_weights_path(path))
            path = archive_model(
                path, weights, str(draft) + ".run", config.get("include_in_archive")
            )
        with tarfile.open(path) as old, tarfile.open(draft, "w:gz", compresslevel=6) as new:
            for member in old:
                if _is_config(member):
                    member.size = len(text)
                    new.addfile(member, io.BytesIO(text))
                else:
                    new.addfile(member, old.extractfile(member) if member.isfile() else None)


def _is_config(member: tarfile.TarInfo) -> bool:
    return os.path.normpath(member.name) == CONFIG_NAME
