"""Files by their names: those that come with the package, and those that archives hold besides the model."""

from pathlib import Path
from typing import Dict, List, Union

ALIGNER_NAME = "aligner.json.gz"
EXTRA_NAMES = (ALIGNER_NAME, "examples.jsonl")
"""The files that callbacks write into the folder of a run, and that its archive holds besides AllenNLP's own."""
_PACKAGE = Path(__file__).resolve().parent


def folders() -> Dict[str, Path]:
    """The folders "training_configs", "fixtures" and "demo".

    In an installed package the first two lie in `allennlp_nef/examples`, in a checkout at its top level.
    """
    installed = _PACKAGE / "examples"
    parent = installed if installed.is_dir() else _PACKAGE.parent
    examples = {name: parent / name for name in ("training_configs", "fixtures")}
    return {**examples, "demo": _PACKAGE / "demo"}


def extra_files(folder: Union[str, Path]) -> List[Path]:
    """The files of `EXTRA_NAMES` in the folder of a run or of an extracted archive, for whoever writes an archive."""
    return [path for path in (Path(folder) / name for name in EXTRA_NAMES) if path.is_file()]
