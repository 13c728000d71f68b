"""The packages, and `allennlp_nef.pth`, which Python reads when it starts; pyproject.toml has all else."""

from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py


class BuildWithStart(build_py):
    """Copies the file into the wheel, beside the package; setuptools has no option for that."""

    def run(self):
        super().run()
        folder = (
            self.get_finalized_command("install").install_lib
            if self.editable_mode
            else self.build_lib
        )
        Path(folder).mkdir(parents=True, exist_ok=True)
        self.copy_file("allennlp_nef.pth", folder)


# Folders without code, which wheels hold inside allennlp_nef.
DATA = ["allennlp_nef.demo", "allennlp_nef.trained_models"]
DATA += [f"allennlp_nef.examples.fixtures.{name}" for name in ("ner", "pos", "qe", "sentences")]
DATA += [f"allennlp_nef.examples.training_configs{name}" for name in ("", ".parts")]

setup(
    packages=[*find_packages(include=["allennlp_nef*"]), *DATA],
    cmdclass={"build_py": BuildWithStart},
)
