"""Package metadata. Two stacks are supported; README.md says which commands install each.

AllenNLP 2.10.1 declares torch<1.13, so it is a requirement only on the Pythons where that can be
met. On Python 3.11 and newer it is installed without its metadata (requirements-no-deps.txt) on top
of requirements.txt, and `import allennlp_nef` says so where that has not happened.
"""

from setuptools import find_packages, setup

LEGACY = 'python_version < "3.11"'
MODERN = 'python_version >= "3.11"'

setup(
    name="allennlp_nef",
    version="0.1.0",
    description="Neural easy-first taggers (NEF-S, NEF-F) with constrained softmax, for AllenNLP",
    license="Apache-2.0",
    license_files=["LICENSE"],
    author="The allennlp_nef authors",
    packages=find_packages(include=["allennlp_nef", "allennlp_nef.*"]),
    package_data={"allennlp_nef": ["demo/*"]},
    python_requires=">=3.8",
    install_requires=[
        "torch>=1.12,<1.13; " + LEGACY,
        "torch>=2.13,<2.14; " + MODERN,
        "numpy>=1.21,<2; " + LEGACY,
        "numpy>=2,<3; " + MODERN,
        "allennlp==2.10.1; " + LEGACY,
        "overrides>=7,<8",
        "pytorch-crf>=0.7.2,<0.8",
        "entmax>=1.3,<2",
        "conllu>=4.4.2,<7",
    ],
    extras_require={
        "serve": ["flask>=2.3", "flask-cors>=4", "gevent>=22.10"],
        "plot": ["matplotlib>=3.7", "scikit-learn>=1.0"],
        "dev": [
            "hypothesis>=6.100",
            "mypy>=2.4,<2.5; " + MODERN,
            "pytest>=7",
            "pytest-xdist>=3.5",
            "ruff>=0.17.5,<0.18; " + MODERN,
            "selenium>=4.10",
            "seqeval>=1.2.2,<2",
            "setuptools>=70.1",
        ],
    },
)
