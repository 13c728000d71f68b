"""The options of registered components."""

import pytest
from allennlp.commands import Subcommand
from allennlp.common import Registrable

from allennlp_nef.cli import options as command
from allennlp_nef.errors import UserError
from tests.cli.commands import output


def test_list_has_every_component_of_the_package():
    listed = dict(line.split(": ") for line in output(command).splitlines())
    assert listed["TagHead"] == "crf, label_attention, softmax" and "Subcommand" not in listed
    assert {"nef", "csoftmax", "word_qe_tagger"} <= set(", ".join(listed.values()).split(", "))


def test_options_have_types_defaults_and_descriptions():
    text = output(command, "crf")
    assert text.startswith('TagHead "crf": allennlp_nef.modules.tag_heads.CrfTagHead\n\n')
    assert '\n\nconstraints: str, optional (default = None)\n    "BIO" or "BIOUL"' in text
    assert (
        '\n\naverage: str, optional (default = "sentence")\n    What the loss' in text
    )  # of `TagHead`


def test_components_of_allennlp_are_described():
    text = output(command, "lstm")
    assert text.startswith("Seq2VecEncoder") and '\n\nSeq2SeqEncoder "lstm": allennlp.' in text
    assert "\n\nnum_layers: int, optional (default = 1)\n" in text
    assert "Number of training epochs." in output(command, "gradient_descent")
    assert "The number of workers to use" in output(command, "multiprocess")


def test_every_registered_component_has_a_description():
    for base, classes in Registrable._registry.items():
        for name in classes if base is not Subcommand else ():
            assert f'{base.__name__} "{name}": ' in output(command, name)


def test_unknown_name_is_an_error_with_similar_names():
    with pytest.raises(UserError, match="neural_easy_first"):
        output(command, "neural_easyfirst")
