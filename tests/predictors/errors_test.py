import sys

import pytest

from allennlp_nef.errors import UserError
from allennlp_nef.predictors.requests import describe, request_error

SERVER = "allennlp_server.commands.server_simple"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (-1.5, "-1.5"),
        ("Küche\n\x00\u2028", r'"K\u00fcche\n\u0000\u2028"'),
        ([1, {"a": [None]}], '[1, {"a": [null]}]'),
        ({1, 2}, "<set>"),
        ({(1, 2): 3}, "<dict>"),
    ],
)
def test_values_in_messages_are_one_line_of_json(value, text):
    assert describe(value) == text


class TestRequestError:
    def test_error_is_a_user_error_without_the_server(self, monkeypatch):
        monkeypatch.delitem(sys.modules, SERVER, raising=False)
        error = request_error("target: expected a string")
        assert type(error) is UserError
        assert str(error) == "target: expected a string"

    def test_error_is_a_server_error_where_the_server_is_loaded(self):
        server = pytest.importorskip(SERVER)
        error = request_error("target: expected a string")
        assert isinstance(error, ValueError)
        assert isinstance(error, server.ServerError)
        assert error.status_code == 400
        assert error.to_dict() == {"message": "target: expected a string"}
        assert str(error) == "target: expected a string"
        assert "target: expected a string" in repr(error)
        assert type(error) is type(request_error("another"))
