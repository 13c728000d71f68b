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


# The folders of example configs and data, which are inside `allennlp_nef.examples` in an installed package.
CANDIDATES = (
    Path("training_configs"),
    *Path("training_configs").iterdir(),
    *Path("fixtures").iterdir(),
)
EXAMPLES = {
    ".".join(("allennlp_nef", "examples", *folder.parts)): str(folder)
    for folder in CANDIDATES
    if folder.is_dir() and not any(folder.glob("*.py*"))
}
FILES = ["allennlp_nef.demo", "allennlp_nef.qe.page", "allennlp_nef.trained_models", *EXAMPLES]

setup(
    packages=[*find_packages(include=["allennlp_nef*"]), *FILES],
    package_dir=EXAMPLES,
    package_data={"allennlp_nef": ["py.typed"], **{name: ["*"] for name in FILES}},
    cmdclass={"build_py": BuildWithStart},
)
