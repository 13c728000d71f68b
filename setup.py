"""The packages, and the files that Python reads when it starts. Everything else is in pyproject.toml."""

from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py


class BuildWithStart(build_py):
    """Copies the start files beside the package, for which setuptools has no option.

    An editable installation gets copies, too: a link into a checkout that was moved would be an error at each start.
    """

    def run(self):
        super().run()
        install = self.get_finalized_command("install")
        folder = install.install_lib if self.editable_mode else self.build_lib
        Path(folder).mkdir(parents=True, exist_ok=True)
        for name in ("_allennlp_nef_start.py", "allennlp_nef.pth", "allennlp_nef.start"):
            self.copy_file(name, folder)


# An installed package has the example configs and data inside.
FOLDERS = (
    "training_configs",
    "training_configs/parts",
    *(f"fixtures/{name}" for name in ("ner", "pos", "qe", "sentences")),
)
EXAMPLES = {f"allennlp_nef.examples.{folder.replace('/', '.')}": folder for folder in FOLDERS}
FILES = ["allennlp_nef.trained_models", *EXAMPLES]

setup(
    packages=[*find_packages(include=["allennlp_nef*"]), *FILES],
    package_dir=EXAMPLES,
    package_data={
        "allennlp_nef": ["py.typed"],
        **{name: ["*"] for name in ["allennlp_nef.pages", *FILES]},
    },
    cmdclass={"build_py": BuildWithStart},
)
