from importlib.metadata import version

import allennlp_nef
from allennlp_nef.versions import version_of


def test_the_version_is_that_of_the_metadata():
    assert allennlp_nef.__version__ == version_of("allennlp_nef")
    assert version_of("allennlp") == version("allennlp") == "2.10.1"


def test_a_package_that_is_not_installed_has_no_known_version():
    assert version_of("no-such-distribution") == "unknown"
