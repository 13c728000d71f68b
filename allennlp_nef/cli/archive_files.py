"""The files of an archive, of which the config and the weights change."""

import io
import json
import os
import tarfile
from pathlib import Path
from typing import Any

import torch
from allennlp.common.file_utils import cached_path
from allennlp.models.archival import CONFIG_NAME, archive_model, get_weights_path

from allennlp_nef.cli.shared import writing
from allennlp_nef.compat import COMPRESSION
from allennlp_nef.errors import UserError
from allennlp_nef.modules.pretrained_transformer import PretrainedTransformer
from allennlp_nef.pretrained import save_transformer
from allennlp_nef.resources import TRANSFORMER_NAME, archive_path

WEIGHTS_NAME = "weights.th"


def fetched(archive: str) -> str:
    """The path of an archive, which may be a trained model of this package or be downloaded, or of a run's folder."""
    return str(cached_path(archive_path(archive)))


def local_path(archive: str) -> Path:
    """`fetched`, where it can be; links are followed."""
    try:
        return Path(fetched(archive)).resolve()
    except (OSError, ValueError):
        return Path(archive).resolve()  # loading it says what is wrong


def files_of(archive: str) -> list[Path]:
    """The file of an archive, or the files that the folder of a run has or will have."""
    path = local_path(archive)
    return [path, path / "model.tar.gz", *path.rglob("*")]


def read_file(archive: str, name: str) -> bytes | None:
    """The content of a file of an archive, or of the folder of a run; None where there is none."""
    path = fetched(archive)
    if os.path.isdir(path):
        file = Path(path) / name
        return file.read_bytes() if file.is_file() else None
    with tarfile.open(path) as files:
        for member in files:
            if os.path.normpath(member.name) == name:
                return files.extractfile(member).read()  # type: ignore[union-attr]
    return None


def read_config(archive: str) -> dict[str, Any]:
    """The config of an archive, or of the folder of a run.

    Where the model was made from another archive, it has the config of that one's model, so that it does not need it.
    """
    text = read_file(archive, CONFIG_NAME)
    if text is None:
        raise UserError(f"{archive}: expected an archive with the file {CONFIG_NAME}, got none")
    config = json.loads(text)
    if config["model"].get("type") == "from_archive":
        config["model"] = read_config(config["model"]["archive_file"])["model"]
    return config


def encoder_of(archive: str, model: torch.nn.Module) -> str:
    """The name of the pretrained encoder that an archive needs and does not have.

    # Parameters

    archive : `str`
    model : `torch.nn.Module`
        That of the archive.

    # Raises

    `UserError`: there is none.
    """
    for module in model.modules():
        if isinstance(module, PretrainedTransformer) and module.needs_encoder:
            return module.model_name
    raise UserError(
        f"--with-encoder: expected an archive that needs its encoder from elsewhere, got {archive}"
    )


def write_archive(
    archive: str,
    output: Path,
    model: dict[str, Any],
    weights: dict[str, Any] | None = None,
    encoder: str | None = None,
) -> None:
    """Writes a copy of an archive.

    Of the folder of a run, the new archive has what AllenNLP archives of it, with the files of `include_in_archive`.

    # Parameters

    archive : `str`
    output : `Path`
    model : `dict[str, Any]`
        The new config of the model.
    weights : `dict[str, Any]`, optional (default = `None`, those of the archive)
    encoder : `str`, optional (default = `None`)
        The name of a pretrained transformer, which the new archive then has, too.
    """
    config = {**read_config(archive), "model": model}
    text = json.dumps(config, indent=4).encode("utf-8")
    path = fetched(archive)
    with writing(output) as draft:
        if os.path.isdir(path):
            file = os.path.basename(get_weights_path(path))
            path = archive_model(path, file, str(draft) + ".run", config.get("include_in_archive"))
        with (
            tarfile.open(path) as old,
            tarfile.open(draft, "w:gz", compresslevel=COMPRESSION) as new,
        ):
            if encoder is not None:
                save_transformer(encoder, str(draft) + ".encoder")
                new.add(str(draft) + ".encoder", TRANSFORMER_NAME)
            for member in old:
                name = os.path.normpath(member.name)
                if encoder is not None and name.split("/")[0] == TRANSFORMER_NAME:
                    continue
                if name == CONFIG_NAME:
                    member.size = len(text)
                    new.addfile(member, io.BytesIO(text))
                elif name == WEIGHTS_NAME and weights is not None:
                    torch.save(weights, str(draft) + ".weights")
                    new.add(str(draft) + ".weights", member.name)
                else:
                    new.addfile(member, old.extractfile(member) if member.isfile() else None)
