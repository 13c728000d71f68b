"""Files to score, and `allennlp score-tags` run on them."""

import pytest


@pytest.fixture
def write(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.write_bytes(text.encode("utf-8"))
        return str(path)

    return write


@pytest.fixture
def score(allennlp, capsys):
    """`score(*arguments)`: what the command prints."""

    def score(*arguments):
        capsys.readouterr()
        allennlp("score-tags", *arguments)
        return capsys.readouterr().out

    return score


@pytest.fixture
def fail(allennlp, capsys):
    """`fail(*arguments)`: the line that the command prints before it exits with 2."""

    def fail(*arguments):
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            allennlp("score-tags", *arguments)
        assert end.value.code == 2
        out, err = capsys.readouterr()
        assert not out
        assert err.endswith("\n")
        return err[:-1]

    return fail
