import logging
from unittest.mock import MagicMock

import pytest
import torch
from allennlp.common.checks import ConfigurationError

from allennlp_nef.data import WmtWordQeReader
from allennlp_nef.models.out_of_memory import OutOfMemoryError
from tests.models.tagging.small_tagger import (
    LENGTHS,
    PAIRS,
    VOCAB,
    batch_of,
    decoder,
    instances,
    make,
)

MODELS = {
    "baseline": {},
    "nef": {"decoder": decoder()},
    "nef_crf": {"decoder": decoder(sketch_update="single"), "tag_head": {"type": "crf"}},
}


@pytest.mark.parametrize("options", MODELS.values(), ids=list(MODELS))
class TestForward:
    def test_output_has_tags_scores_and_a_loss(self, options):
        model = make(**options)
        output = model(**batch_of())
        keys = {"mask", "tag_ids", "scores", "tagging", "loss", "metadata"}
        assert set(output) == keys
        assert output["mask"].sum(-1).tolist() == LENGTHS
        assert output["tag_ids"].shape == (3, 5)
        assert output["scores"].shape == (3, 5, 2)
        assert (output["tag_ids"][~output["mask"]] == 0).all()
        assert output["loss"].item() > 0
        assert not output["tag_ids"].requires_grad
        assert set(model.train()(**batch_of())) == {"mask", "loss", "metadata"}

    def test_there_is_no_loss_without_tags(self, options):
        model = make(**options)
        output = model(**batch_of(instances(tags=False)))
        expected = {"mask", "tag_ids", "scores", "tagging"}
        assert set(output) == expected | {"metadata"}
        assert model.get_metrics() == {}
        batch = batch_of(instances(tags=False))
        del batch["metadata"]
        assert set(model(**batch)) == expected

    def test_validation_computes_no_probabilities(self, options, monkeypatch):
        model = make(**options)
        expected = model(**batch_of())
        for name in ("probabilities", "chain_probabilities"):
            monkeypatch.setattr(model.tag_head, name, None)
        assert torch.equal(model(**batch_of())["loss"], expected["loss"])

    def test_training_decodes_only_for_metrics_of_tags(self, options, monkeypatch):
        model = make(metrics=["sentence_scores"], **options).train()
        for name in ("decode", "probabilities"):
            monkeypatch.setattr(model.tag_head, name, None)
        assert "loss" in model(**batch_of())

    def test_training_without_tags_is_refused(self, options):
        with pytest.raises(ConfigurationError, match="tags: expected gold tags"):
            make(**options).train()(**batch_of(instances(tags=False)))

    def test_a_batch_gives_what_each_gets_alone(self, options):
        model = make(**options)
        together = model(**batch_of())
        for row, instance in enumerate(instances()):
            alone = model(**batch_of([instance]))
            length = LENGTHS[row]
            torch.testing.assert_close(
                together["scores"][row, :length], alone["scores"][0], rtol=1e-5, atol=1e-5
            )
            assert torch.equal(together["tag_ids"][row, :length], alone["tag_ids"][0])

    def test_model_learns_three_sentences(self, options):
        model = make(**options).train()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
        batch = batch_of()
        for _ in range(40):
            optimizer.zero_grad()
            model(**batch)["loss"].backward()
            optimizer.step()
        assert all(p.grad is not None for p in model.parameters())
        model.get_metrics(reset=True)
        model.eval()(**batch)
        assert model.get_metrics() == {"accuracy": 1.0}


class TestReadable:
    def test_entries_are_as_long_as_the_sentences(self):
        model = make(decoder=decoder())
        readable = model.make_output_human_readable(model(**batch_of()))
        tables = readable["label_probabilities"]
        names = {"tags", "probabilities", "label_probabilities", "metadata", "tokens"}
        assert set(readable) == {*names, "loss"}
        with torch.no_grad():
            assert set(model.make_output_human_readable(model(**batch_of()))) == names
        assert readable["tokens"] == [pair[1].split() for pair in PAIRS]
        assert [len(tags) for tags in readable["tags"]] == LENGTHS
        assert [table.shape for table in tables] == [(length, 2) for length in LENGTHS]
        labels = VOCAB.get_token_to_index_vocabulary("labels")
        for tags, chosen, table in zip(readable["tags"], readable["probabilities"], tables):
            assert table.sum(-1) == pytest.approx(1)
            assert chosen == table.max(-1).tolist()
            assert [labels[tag] for tag in tags] == table.argmax(-1).tolist()

    def test_message_says_what_to_change_when_memory_runs_out(self, monkeypatch):
        model = make()
        output = model(**batch_of())
        error = MagicMock(side_effect=RuntimeError("CUDA out of memory"))
        monkeypatch.setattr(model.tag_head, "probabilities", error)
        with pytest.raises(OutOfMemoryError, match="a batch of 3 sentences .*: lower --batch-size"):
            model.make_output_human_readable(output)


class TestSentencesWithoutAlignments:
    def batch(self, alignments=None):
        reader = WmtWordQeReader()
        instance = reader.text_to_instance(
            ["der", "Hund"], ["the", "dog"], alignments, ["OK", "OK"]
        )
        reader.apply_token_indexers(instance)
        return batch_of([instance])

    def test_a_model_that_takes_alignments_warns_once_that_it_ignores_the_source(self, caplog):
        caplog.set_level(logging.WARNING)
        model = make()
        model(**self.batch([]))  # that nothing is aligned is known
        assert not caplog.messages
        model.train()(**self.batch())
        model.eval()(**self.batch())
        (message,) = caplog.messages
        assert "the model ignores the words of the source" in message
        assert "`allennlp-nef align-words`" in message and "allennlp_nef[align]" in message

    def test_a_model_that_takes_none_does_not_warn(self, caplog):
        caplog.set_level(logging.WARNING)
        model = make()
        model.input_representation.without_alignments = None
        model(**self.batch())
        assert not caplog.messages
