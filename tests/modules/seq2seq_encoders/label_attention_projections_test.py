"""When the layers of `label_attention` project the labels."""

import copy
from contextlib import contextmanager

import pytest
import torch

from allennlp_nef.modules.label_table import LabelTable
from allennlp_nef.modules.seq2seq_encoders import label_attention_layer, label_lstm
from tests.modules.seq2seq_encoders.small_label_attention import HIDDEN_DIM, batch_of, make


@contextmanager
def counted(monkeypatch):
    """The times that labels are projected."""
    made = []
    project = label_attention_layer.project_labels
    with monkeypatch.context() as patch:
        patch.setattr(
            label_attention_layer,
            "project_labels",
            lambda *arguments, **options: (made.append(None), project(*arguments, **options))[1],
        )
        yield made


def update(encoder):
    """A step of training in the mode that the encoder is in."""
    optimizer = torch.optim.SGD(encoder.parameters(), lr=0.5)
    with torch.enable_grad():
        encoder(*batch_of([4, 2])).square().sum().backward()
    optimizer.step()


def step_of_label_table(encoder):
    optimizer = torch.optim.SGD([encoder.label_table.weight], lr=0.5)
    encoder.label_table.weight.grad = torch.ones_like(encoder.label_table.weight)
    optimizer.step()


def overwrite_values(encoder):
    with torch.no_grad():
        encoder.layers[0].value_weight.mul_(2)


def replace_table(encoder, num_labels=3):
    encoder.label_table = LabelTable(num_labels, HIDDEN_DIM)


CHANGES = {
    "optimizer": update,
    "optimizer of the table": step_of_label_table,
    "in place": overwrite_values,
    "another table": replace_table,
    "load_state_dict": lambda encoder: encoder.load_state_dict(make(1).state_dict()),
    "double": lambda encoder: encoder.double(),
    "bfloat16": lambda encoder: encoder.bfloat16(),
}


class TestFoldedWeightsInAnEvaluation:
    """Those that read the distributions of few labels in place of their mixture."""

    @staticmethod
    def count(monkeypatch):
        made, fold = [], label_lstm.folded_weight
        monkeypatch.setattr(
            label_lstm, "folded_weight", lambda *arguments: (made.append(None), fold(*arguments))[1]
        )
        return made

    @pytest.mark.parametrize("num_labels, is_folded", [(4, True), (5, False)])
    def test_are_made_once(self, monkeypatch, num_labels, is_folded):
        encoder = make(num_labels=num_labels, num_layers=3, attend_last=False).eval()
        made = self.count(monkeypatch)
        with torch.no_grad():
            expected = encoder(*batch_of([5, 3]))
            assert len(made) == 2 * 2 * is_folded  # layers, directions
            assert torch.equal(encoder(*batch_of([5, 3])), expected)
            assert len(made) == 2 * 2 * is_folded

    @pytest.mark.parametrize(
        "change",
        [
            "optimizer of the table",
            "in place",
            "another table",
            "of the BiLSTM",
            "of one direction",
        ],
    )
    def test_are_made_anew(self, change):
        encoder = make(num_labels=2, num_layers=2).eval()
        changes = {
            **CHANGES,
            "another table": lambda encoder: replace_table(encoder, 2),
            "of the BiLSTM": lambda encoder: encoder.layers[1].lstm.lstm.weight_ih_l0.mul_(2),
            "of one direction": lambda encoder: encoder.layers[
                1
            ].lstm.lstm.weight_ih_l0_reverse.mul_(2),
        }
        with torch.no_grad():
            before = encoder(*batch_of([5, 3]))
            changes[change](encoder)
            after = encoder(*batch_of([5, 3]))
            assert not torch.equal(before, after)
            encoder.train().eval()
            assert torch.equal(encoder(*batch_of([5, 3])), after)

    @pytest.mark.parametrize("num_labels", [2, 4])  # 4: not folded in training
    def test_are_not_those_of_training(self, num_labels):
        encoder = make(num_labels=num_labels, num_layers=2).eval()
        with torch.no_grad():
            expected = encoder(*batch_of([5, 3]))
        torch.testing.assert_close(encoder.train()(*batch_of([5, 3])), expected)
        encoder.eval()(*batch_of([5, 3])).sum().backward()
        assert all(p.grad is not None for p in encoder.parameters())


class TestProjectionsInAnEvaluation:
    def test_are_made_once(self, monkeypatch):
        encoder = make(num_layers=2).eval()
        with torch.no_grad(), counted(monkeypatch) as made:
            expected = encoder(*batch_of([5, 3]))
            assert len(made) == 2
            for lengths in ([5, 3], [2], [5, 3]):
                found = encoder(*batch_of(lengths))
            assert len(made) == 2
            assert torch.equal(found, expected)

    @pytest.mark.parametrize(
        "is_trained, has_gradients", [(True, True), (True, False), (False, True)]
    )
    def test_else_each_time(self, monkeypatch, is_trained, has_gradients):
        encoder = make(num_layers=2).train(is_trained)
        with torch.set_grad_enabled(has_gradients), counted(monkeypatch) as made:
            encoder(*batch_of([5, 3]))
            encoder(*batch_of([5, 3]))
        assert len(made) == 4

    @pytest.mark.parametrize("change", sorted(CHANGES))
    def test_are_made_anew(self, monkeypatch, change):
        encoder = make().eval()
        with torch.no_grad():
            encoder(*batch_of([5, 3]))
            CHANGES[change](encoder)
            dtype = encoder.layers[0].value_weight.dtype
            inputs, mask = batch_of([5, 3], dtype)
            with counted(monkeypatch) as made:
                found = encoder(inputs, mask)
            assert len(made) == 1
            fresh = copy.deepcopy(encoder).train().eval()
            assert torch.equal(found, fresh(inputs, mask))

    @pytest.mark.parametrize("mode", [True, False])
    def test_are_dropped_with_the_mode(self, monkeypatch, mode):
        """Also what was written where PyTorch does not see it, as AllenNLP's moving averages do."""
        encoder = make().eval()
        with torch.no_grad(), counted(monkeypatch) as made:
            before = encoder(*batch_of([5, 3]))
            encoder.label_table.weight.data.mul_(3)
            encoder.train(mode).eval()
            after = encoder(*batch_of([5, 3]))
        assert len(made) == 2
        assert not torch.allclose(before, after)

    def test_are_those_of_the_table_that_is_there(self):
        """Also of one that was changed as often as the other."""
        encoder = make().eval()
        tables = [copy.deepcopy(encoder.label_table) for _ in range(2)]
        tables[1].weight.data.mul_(3)
        found = []
        with torch.no_grad():
            for encoder.label_table in (*tables, *tables):
                found.append(encoder(*batch_of([5, 3])))
        assert torch.equal(found[0], found[2]) and torch.equal(found[1], found[3])
        assert not torch.allclose(found[0], found[1])

    def test_are_not_those_under_autocast(self):
        encoder = make().eval()
        expected = encoder(*batch_of([5, 3]))
        with torch.no_grad():
            with torch.autocast("cpu", dtype=torch.bfloat16):
                encoder(*batch_of([5, 3]))
            torch.testing.assert_close(encoder(*batch_of([5, 3])), expected)

    def test_training_after_an_evaluation(self):
        """Gradients reach the labels."""
        encoder = make().eval()
        with torch.no_grad():
            encoder(*batch_of([5, 3]))
        for mode in (False, True):
            encoder.train(mode).zero_grad(set_to_none=True)
            encoder(*batch_of([5, 3])).sum().backward()
            assert all(p.grad is not None for p in encoder.parameters())

    def test_a_model_made_in_inference_mode(self):
        with torch.inference_mode():
            encoder = make().eval()
            before = encoder(*batch_of([5, 3]))
            encoder.label_table.weight.mul_(3)
            assert not torch.allclose(before, encoder(*batch_of([5, 3])))

    def test_tables_that_come_and_go(self):
        """The next one may lie where the last one lay."""
        encoder, found = make().eval(), []
        with torch.no_grad():
            for _ in range(8):
                encoder.label_table = LabelTable(3, HIDDEN_DIM)
                encoder.label_table.weight.normal_()
                found.append(encoder(*batch_of([5, 3])))
                encoder.train().eval()
                assert torch.equal(found[-1], encoder(*batch_of([5, 3])))

    def test_inference_mode(self):
        encoder = make().eval()
        with torch.inference_mode():
            expected = encoder(*batch_of([5, 3]))
        with torch.no_grad():
            assert torch.equal(encoder(*batch_of([5, 3])), expected)
        encoder(*batch_of([5, 3])).sum().backward()

    def test_of_a_copy(self):
        encoder = make().eval()
        with torch.no_grad():
            before = encoder(*batch_of([5, 3]))
            other = copy.deepcopy(encoder)
            other.label_table.weight.mul_(3)
            assert not torch.allclose(other(*batch_of([5, 3])), before)
            assert torch.equal(encoder(*batch_of([5, 3])), before)
