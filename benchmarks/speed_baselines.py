"""Part 7 of `speed.py`: label attention (LAN) and self-attention (PSA) against a BiLSTM-CRF with the same input.

The taggers are complete. Training includes words and the BiLSTM over their characters, loss, gradient norm and SGD;
decoding is what `allennlp predict` does with a batch. Dimensions, optimizer and batches of 10 are those of the papers
(`training_configs/pos_lan*`, `pos_psa`). Sentences have 25 random words of the vocabulary of UD French-Sequoia.
"""

import json
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import _jsonnet
import torch
from allennlp.data import Vocabulary
from allennlp.modules import ConditionalRandomField
from speed_harness import ROOT, Case, Row, Settings, Target, compare
from speed_taggers import SIZES, TOKENS, Action, Run, products_of
from torch.nn.utils.rnn import pad_sequence

from allennlp_nef.modules.tag_heads import AffineTagHead, CrfTagHead, TagHead

BATCH = 10
LETTERS = 10
"""The number of letters of the longest word."""
TAGS = (17, 45, 425)
"""The numbers of tags of UD, the Penn Treebank and CCG."""
CRF, SOFTMAX, ALLENNLP = "BiLSTM-CRF", "BiLSTM-softmax", "BiLSTM with AllenNLP's CRF"
VITERBI = f"{CRF} without marginals"
ACTIONS: dict[str, Action] = {"training": Run.train, "decoding": Run.infer}
LAN_TARGETS = {
    ("training", 45): Target(0.95, 0.89),
    ("training", 425): Target(0.42, 0.42),
    **{("decoding", labels): Target(1.0, 1.0) for labels in TAGS},
}
PSA_TARGETS = {"training": Target(1.6, 1.15)}


class WithoutMarginals:
    def probabilities(self, scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return torch.zeros_like(scores)


class ViterbiOnly(WithoutMarginals, CrfTagHead):
    """Our CRF without its marginals."""

    name = "viterbi_only"


class AllenNlpCrf(WithoutMarginals, AffineTagHead):
    """AllenNLP's CRF, which has no marginals."""

    name = "allennlp_crf"

    def __init__(self, input_dim: int, vocab: Vocabulary, **kwargs: Any) -> None:
        super().__init__(input_dim, vocab, **kwargs)
        self.chain = ConditionalRandomField(self.num_labels)

    def loss(
        self, scores: torch.Tensor, mask: Any, tags: Any, weights: torch.Tensor | None = None
    ) -> torch.Tensor:
        return -self.chain(scores, tags, mask) / self.loss_weight(mask)

    def decode(self, scores: torch.Tensor, mask: Any) -> torch.Tensor:
        paths = [torch.tensor(path) for path, _ in self.chain.viterbi_tags(scores, mask)]
        return pad_sequence(paths, batch_first=True).to(scores.device)


for head in (ViterbiOnly, AllenNlpCrf):
    TagHead.register(head.name, exist_ok=True)(head)


class Tagger(NamedTuple):
    """The config of a tagger, and the number of its labels."""

    experiment: dict[str, Any]
    labels: int = TAGS[0]

    def run(self, settings: Settings, action: Action) -> Callable[[], None]:
        """The function to measure, after some training steps."""
        torch.manual_seed(1)
        batches = [random_batch(settings, self.labels) for _ in range(8)]
        model, trainer = self.experiment["model"], self.experiment["trainer"]
        return Run(settings, model, batches, self.labels, trainer).started(settings, action)

    def with_head(self, name: str) -> "Tagger":
        """The same tagger with another tag head."""
        model = {**self.experiment["model"], "tag_head": {"type": name, "average": "none"}}
        return self._replace(experiment={**self.experiment, "model": model})


def baselines(settings: Settings) -> list[Case]:
    """Training steps and decoding of LAN by number of tags, and of PSA, with their floors."""
    cases: list[Case] = []
    sizes = TAGS[:2] if settings.quick else TAGS
    for kind in ACTIONS:
        cases += [partial(_label_attention, settings, kind, labels) for labels in sizes]
        cases.append(partial(_self_attention, settings, kind))
    return cases


def _label_attention(settings: Settings, kind: str, labels: int) -> list[Row]:
    layers = "{ num_layers:: 3 }"
    title = f"{kind}, {labels} tags"
    lan = Tagger(experiment("pos_lan"), labels)
    crf = Tagger(experiment("pos_lan_bilstm_crf", layers), labels)
    softmax = Tagger(experiment("pos_lan_bilstm_softmax", layers), labels)
    is_training = kind == "training"

    def run(tagger: Tagger) -> Callable[[], None]:
        return tagger.run(settings, ACTIONS[kind])

    # Training computes no marginals.
    baseline = CRF if is_training else VITERBI
    theirs = run(crf if is_training else crf.with_head(ViterbiOnly.name))
    ours, bilstm, other = run(lan), run(softmax), run(crf.with_head(AllenNlpCrf.name))
    floor = partial(_with, bilstm, label_products(settings, lan, is_training))
    what = f"floor of LAN: {SOFTMAX} and its products, {title}"
    rows = [
        compare(settings, f"LAN, {title}", baseline, ours, theirs, LAN_TARGETS.get((kind, labels))),
        compare(settings, f"{SOFTMAX}, {title}", baseline, bilstm, theirs),
        compare(settings, what, baseline, floor, theirs),
        compare(settings, f"LAN, {title}", ALLENNLP, ours, other),
    ]
    if not is_training:
        rows.append(compare(settings, f"LAN, {title}", CRF, ours, run(crf)))
    return rows


def _self_attention(settings: Settings, kind: str) -> list[Row]:
    psa = Tagger(experiment("pos_psa"))
    crf = Tagger(experiment("pos_psa", "{ order:: ['bilstm'] }"))
    ours, theirs, other = (
        tagger.run(settings, ACTIONS[kind])
        for tagger in (psa, crf, crf.with_head(AllenNlpCrf.name))
    )
    products = fusion_products(settings, psa, kind == "training")
    floor = partial(_with, theirs, products)
    return [
        compare(settings, f"PSA, {kind}", CRF, ours, theirs, PSA_TARGETS.get(kind)),
        compare(settings, f"floor of PSA: {CRF} and its products, {kind}", CRF, floor, theirs),
        compare(settings, f"PSA, {kind}", ALLENNLP, ours, other),
    ]


def label_products(settings: Settings, lan: Tagger, backward: bool) -> list[Callable[[], Any]]:
    """The matrix products of LAN beyond those of a BiLSTM with as many layers, in the cheapest order.

    In each layer but the last they are: labels by W^K and W^V, W^Q by the keys, words by that product, and the input of
    the next layer, which has H^l or the distributions besides H^w. Decoding leaves out products of labels only.
    """
    encoder, labels = lan.experiment["model"]["encoder"], lan.labels
    dim, heads = encoder["hidden_dim"], encoder["num_heads"]
    gates, size, words = 4 * dim, dim // heads, BATCH * TOKENS
    product = partial(products_of, settings, backward=backward)
    own = heads * labels
    products: list[Callable[[], Any]] = []
    if backward:
        products += product(labels, dim, dim) + product(labels, dim, dim)
    if own <= dim + labels:
        products += product(words, dim, own)
        products += product(dim, size, labels, heads) * backward
    else:
        products += product(words, dim, dim) + product(words, size, labels, heads)
    folded = own * gates * words + own * gates * size * backward
    if folded < dim * gates * words + words * labels * dim:
        products += product(words, own, gates) + product(gates, size, labels, heads) * backward
    else:
        products += product(words, dim, gates) + product(words, labels, size, heads)
    return products * (encoder["num_layers"] - 1)


def fusion_products(settings: Settings, tagger: Tagger, backward: bool) -> list[Callable[[], Any]]:
    """The products of the words with the seven matrices of each fusion layer (Eqs. 5, 12 and 13 of Wei et al.)."""
    product = partial(products_of, settings, backward=backward)
    products: list[Callable[[], Any]] = []
    for part in tagger.experiment["model"]["encoder"]["encoders"]:
        if part["type"] == "position_aware_self_attention":
            dim = part["input_dim"]
            products += [call for _ in range(7) for call in product(BATCH * TOKENS, dim, dim)]
    return products


def _with(action: Callable[[], None], products: list[Callable[[], Any]]) -> None:
    action()
    for product in products:
        product()


def random_batch(settings: Settings, labels: int) -> dict[str, Any]:
    """A batch of words of 1 to `LETTERS` letters, whose tags can be learned."""
    shape = BATCH, TOKENS
    words = torch.randint(2, SIZES["tokens"], shape)
    letters = torch.randint(2, SIZES["token_characters"], (*shape, LETTERS))
    lengths = torch.randint(1, LETTERS + 1, (*shape, 1))
    letters[torch.arange(LETTERS) >= lengths] = 0
    tokens = {"tokens": {"tokens": words}, "characters": {"token_characters": letters}}
    moved = {
        name: {key: value.to(settings.device) for key, value in indexed.items()}
        for name, indexed in tokens.items()
    }
    return {"tokens": moved, "tags": (words % labels).to(settings.device)}


@cache
def experiment(name: str, knobs: str | None = None) -> dict[str, Any]:
    """The value of a config, with other values of its knobs."""
    path = json.dumps(str(ROOT / "training_configs" / f"{name}.jsonnet"))
    snippet = f"(import {path}) + {knobs or '{}'}"
    return json.loads(_jsonnet.evaluate_snippet(name, snippet))
