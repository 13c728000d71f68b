"""Part 7 of `speed.py`: label attention (LAN) and self-attention (PSA) against a BiLSTM-CRF with the same input.

Whole taggers: words and the BiLSTM over their characters, loss, gradient norm and SGD; or, decoding, what
`allennlp predict` does with a batch. The dimensions, the optimizer and the batches of 10 are those of the papers
(`training_configs/pos_lan*`, `pos_psa`); sentences of 25 random words, and the vocabulary of UD French-Sequoia.
"""

import json
from functools import lru_cache, partial
from typing import Any, Callable, Dict, List, NamedTuple, Optional

import _jsonnet
import torch
from allennlp.data import Vocabulary
from allennlp.modules import ConditionalRandomField
from speed_harness import ROOT, Case, Row, Settings, Target, compare
from speed_taggers import SIZES, TOKENS, Action, Run, products_of
from torch.nn.utils.rnn import pad_sequence

from allennlp_nef.modules.tag_heads import CrfTagHead, TagHead
from allennlp_nef.modules.tag_heads.tag_head import AffineTagHead

BATCH = 10
LETTERS = 10
"""Of the longest word."""
TAGS = (17, 45, 425)
"""Of UD, of the Penn Treebank and of CCG."""
CRF, SOFTMAX, ALLENNLP = "BiLSTM-CRF", "BiLSTM-softmax", "BiLSTM with AllenNLP's CRF"
VITERBI = f"{CRF} without marginals"
ACTIONS: Dict[str, Action] = {"training": Run.train, "decoding": Run.infer}
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

    def loss(self, scores: torch.Tensor, mask: Any, tags: Any) -> torch.Tensor:
        return self.averaged(-self.chain(scores, tags, mask), mask)

    def decode(self, scores: torch.Tensor, mask: Any) -> torch.Tensor:
        paths = [torch.tensor(path) for path, _ in self.chain.viterbi_tags(scores, mask)]
        return pad_sequence(paths, batch_first=True).to(scores.device)


for head in (ViterbiOnly, AllenNlpCrf):
    TagHead.register(head.name, exist_ok=True)(head)


class Tagger(NamedTuple):
    """What its model and trainer are."""

    experiment: Dict[str, Any]
    labels: int = TAGS[0]

    def run(self, settings: Settings, action: Action) -> Callable[[], None]:
        """What is measured of it, after some steps of training."""
        torch.manual_seed(1)
        batches = [random_batch(settings, self.labels) for _ in range(8)]
        model, trainer = self.experiment["model"], self.experiment["trainer"]
        return Run(settings, model, batches, self.labels, trainer).started(settings, action)

    def with_head(self, name: str) -> "Tagger":
        """The same with another output layer."""
        model = {**self.experiment["model"], "tag_head": {"type": name, "average": "none"}}
        return self._replace(experiment={**self.experiment, "model": model})


def baselines(settings: Settings) -> List[Case]:
    """Training steps and decoding of LAN by number of tags, and of PSA, with their floors."""
    cases: List[Case] = []
    sizes = TAGS[:2] if settings.quick else TAGS
    for kind in ACTIONS:
        cases += [partial(_label_attention, settings, kind, labels) for labels in sizes]
        cases.append(partial(_self_attention, settings, kind))
    return cases


def _label_attention(settings: Settings, kind: str, labels: int) -> List[Row]:
    layers = "{ num_layers:: 3 }"
    title = f"{kind}, {labels} tags"
    lan = Tagger(experiment("pos_lan"), labels)
    crf = Tagger(experiment("pos_lan_bilstm_crf", layers), labels)
    softmax = Tagger(experiment("pos_lan_bilstm_softmax", layers), labels)
    is_training = kind == "training"

    def run(tagger: Tagger) -> Callable[[], None]:
        return tagger.run(settings, ACTIONS[kind])

    # In training there are no marginals.
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


def _self_attention(settings: Settings, kind: str) -> List[Row]:
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


def label_products(settings: Settings, lan: Tagger, backward: bool) -> List[Callable[[], Any]]:
    """What LAN multiplies more than a BiLSTM of as many layers, in the cheaper of the ways to do it.

    In each layer but the last: the labels by W^K and W^V, and W^Q by the keys; words by that; and the input of the next
    layer, that has H^l or the distributions besides H^w. What depends on labels alone is left out in decoding.
    """
    encoder, labels = lan.experiment["model"]["encoder"], lan.labels
    dim, heads = encoder["hidden_dim"], encoder["num_heads"]
    gates, size, words = 4 * dim, dim // heads, BATCH * TOKENS
    product = partial(products_of, settings, backward=backward)
    own = heads * labels
    products: List[Callable[[], Any]] = []
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


def fusion_products(settings: Settings, tagger: Tagger, backward: bool) -> List[Callable[[], Any]]:
    """The seven matrices of each fusion layer (Eqs. 5, 12 and 13 of Wei et al.), by words."""
    product = partial(products_of, settings, backward=backward)
    products: List[Callable[[], Any]] = []
    for part in tagger.experiment["model"]["encoder"]["encoders"]:
        if part["type"] == "position_aware_self_attention":
            dim = part["input_dim"]
            products += [call for _ in range(7) for call in product(BATCH * TOKENS, dim, dim)]
    return products


def _with(action: Callable[[], None], products: List[Callable[[], Any]]) -> None:
    action()
    for product in products:
        product()


def random_batch(settings: Settings, labels: int) -> Dict[str, Any]:
    """A batch whose tags can be learnt, of words of 1 to `LETTERS` letters."""
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


@lru_cache(maxsize=None)
def experiment(name: str, knobs: Optional[str] = None) -> Dict[str, Any]:
    """A config, with other knobs."""
    path = json.dumps(str(ROOT / "training_configs" / f"{name}.jsonnet"))
    snippet = f"(import {path}) + {knobs or '{}'}"
    return json.loads(_jsonnet.evaluate_snippet(name, snippet))
