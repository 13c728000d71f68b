"""Adds `allennlp_nef.pth`, which Python reads when it starts, to what is installed; pyproject.toml has all else."""

from pathlib import Path

from setuptools import setup
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


setup(cmdclass={"build_py": BuildWithStart})
