import json

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.models.archival import archive_model, load_archive

from allennlp_nef.models import NefTagger
from tests.models.small_tagger import (
    LENGTHS,
    PAIRS,
    VOCAB,
    batch_of,
    config_of,
    decoder,
    instances,
    lstm,
    make,
)

MODELS = {
    "baseline": {},
    "nef": {"decoder": decoder()},
    "nef_crf": {"decoder": decoder(sketch_update="single"), "tag_head": {"type": "crf"}},
}


@pytest.mark.parametrize("options", MODELS.values(), ids=list(MODELS))
class TestForward:
    def test_output(self, options):
        model = make(**options)
        output = model(**batch_of())
        keys = {"mask", "tag_ids", "scores", "probabilities", "loss", "metadata"}
        assert set(output) == keys
        assert output["mask"].sum(-1).tolist() == LENGTHS
        assert output["tag_ids"].shape == (3, 5)
        assert output["probabilities"].shape == (3, 5, 2)
        assert (output["tag_ids"][~output["mask"]] == 0).all()
        torch.testing.assert_close(output["probabilities"].sum(-1), output["mask"].float())
        assert output["loss"].item() > 0
        assert not output["tag_ids"].requires_grad
        assert set(model.train()(**batch_of())) == keys - {"scores", "probabilities"}

    def test_without_tags(self, options):
        model = make(**options)
        output = model(**batch_of(instances(tags=False)))
        expected = {"mask", "tag_ids", "scores", "probabilities"}
        assert set(output) == expected | {"metadata"}
        assert model.get_metrics() == {}
        batch = batch_of(instances(tags=False))
        del batch["metadata"]
        assert set(model(**batch)) == expected

    def test_training_without_tags(self, options):
        with pytest.raises(ConfigurationError, match="tags: expected gold tags"):
            make(**options).train()(**batch_of(instances(tags=False)))

    def test_a_batch_gives_what_each_gets_alone(self, options):
        model = make(**options)
        together = model(**batch_of())
        for row, instance in enumerate(instances()):
            alone = model(**batch_of([instance]))
            length = LENGTHS[row]
            torch.testing.assert_close(
                together["probabilities"][row, :length],
                alone["probabilities"][0],
                rtol=1e-5,
                atol=1e-5,
            )
            assert torch.equal(together["tag_ids"][row, :length], alone["tag_ids"][0])

    def test_learns(self, options):
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

    def test_archive(self, options, tmp_path):
        """What was saved tags as before."""
        model = make(seed=5, **options)
        config = {"model": config_of(**options), "dataset_reader": {"type": "wmt_word_qe"}}
        (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
        VOCAB.save_to_files(str(tmp_path / "vocabulary"))
        torch.save(model.state_dict(), str(tmp_path / "weights.th"))
        archive_model(str(tmp_path), weights="weights.th")
        loaded = load_archive(str(tmp_path / "model.tar.gz")).model.eval()
        assert isinstance(loaded, NefTagger)
        expected, output = model(**batch_of()), loaded(**batch_of())
        assert torch.equal(output["probabilities"], expected["probabilities"])
        assert torch.equal(output["loss"], expected["loss"])


class TestReadable:
    def test_entries(self):
        model = make(decoder=decoder())
        readable = model.make_output_human_readable(model(**batch_of()))
        tables = readable["label_probabilities"]
        names = {"tags", "probabilities", "label_probabilities", "metadata", "tokens"}
        assert set(readable) == names
        assert readable["tokens"] == [pair[1].split() for pair in PAIRS]
        assert [len(tags) for tags in readable["tags"]] == LENGTHS
        assert [table.shape for table in tables] == [(length, 2) for length in LENGTHS]
        labels = VOCAB.get_token_to_index_vocabulary("labels")
        for tags, chosen, table in zip(readable["tags"], readable["probabilities"], tables):
            assert table.sum(-1) == pytest.approx(1)
            assert chosen == table.max(-1).tolist()
            assert [labels[tag] for tag in tags] == table.argmax(-1).tolist()

    def test_on_instances(self):
        """Through AllenNLP's own route, one dictionary an instance."""
        model = make(decoder=decoder())
        results = model.forward_on_instances(instances(keep_trace=(True, False, True)))
        assert [len(result["tags"]) for result in results] == LENGTHS
        assert [result["tokens"] for result in results] == [pair[1].split() for pair in PAIRS]
        assert results[1]["attention"] is None
        assert len(results[0]["attention"]) == 3
        (alone,) = model.forward_on_instances(instances()[:1])
        assert "attention" not in alone
        assert alone["tags"] == results[0]["tags"]

    def test_while_training(self):
        model = make().train()
        readable = model.make_output_human_readable(model(**batch_of()))
        assert "probabilities" not in readable
        assert [len(tags) for tags in readable["tags"]] == LENGTHS


class TestTrace:
    @pytest.mark.parametrize("num_steps, steps", [(3, [3, 1, 2]), ("length", [5, 1, 2])])
    def test_for_who_asks(self, num_steps, steps):
        model = make(decoder=decoder(num_steps=num_steps))
        keep = (True, False, True)
        output = model(**batch_of(instances(keep_trace=keep)))
        assert output["trace"].num_steps.tolist() == steps
        attention = model.make_output_human_readable(output)["attention"]
        assert [item is not None for item in attention] == list(keep)
        for row in (0, 2):
            assert len(attention[row]) == steps[row]
            for weights in attention[row]:
                assert len(weights) == LENGTHS[row]
                assert sum(weights) == pytest.approx(1, abs=1e-5)

    def test_changes_nothing_else(self):
        model = make(decoder=decoder())
        plain = model(**batch_of())
        traced = model(**batch_of(instances(keep_trace=(False, True, False))))
        assert "trace" not in plain
        assert torch.equal(plain["tag_ids"], traced["tag_ids"])
        torch.testing.assert_close(plain["probabilities"], traced["probabilities"])

    @pytest.mark.parametrize("options", [{}, {"decoder": lstm(6)}], ids=["none", "another"])
    def test_of_a_decoder_without_one(self, options):
        model = make(**options)
        output = model(**batch_of(instances(keep_trace=(True, True, True))))
        assert "trace" not in output
        assert "attention" not in model.make_output_human_readable(output)
