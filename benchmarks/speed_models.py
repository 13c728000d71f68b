"""Parts 1, 2, 5, 7 and 10 of `speed.py`: training steps and inference of whole models, beside others.

Parts 1 and 2 have `nef_tagger` against AllenNLP's `simple_tagger`, with the dimensions and the optimizer of
`training_configs/pos_*`, and sentences of 25 random words. The vocabulary has the size of that of UD French-Sequoia,
since optimizer and gradient norm process all of its embeddings. `simple_tagger` has no dropout, so ours has none
either, except in the rows "with dropout". A floor is the baseline's step and the matrix products of the decoder,
without anything else.

Part 7 has label attention (LAN) and self-attention (PSA) against a BiLSTM-CRF with the same input, with the
optimizer and the batches of 10 of `pos_lan*` and `pos_psa`. Part 10 has `arc_mlp_parser` against `biaffine_parser` of
allennlp-models, where that is installed, in batches of 16 with 54 labels.
"""

import json
from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import cache, partial
from itertools import cycle
from typing import Any, NamedTuple

import _jsonnet
import torch
from allennlp.common import Params
from allennlp.data import Vocabulary
from allennlp.models import Model
from allennlp.modules import ConditionalRandomField
from allennlp.training.optimizers import Optimizer
from timing import (
    ROOT,
    Case,
    Row,
    Settings,
    Target,
    compare,
    exponent_row,
    in_new_processes,
    measure,
    peak_above,
    rounds_of,
    warm_up,
)
from torch.nn.utils.rnn import pad_sequence

from allennlp_nef.models import NefTagger
from allennlp_nef.modules.tag_heads import AffineTagHead, CrfTagHead, TagHead
from allennlp_nef.training.trainer import fuse_steps

TOKENS = 25
LABELS = 17
SIZES = {
    "tokens": 3143,
    "token_characters": 107,
    **{f"affixes_prefix_{i}": size for i, size in enumerate((94, 567, 1381, 1928), 1)},
    **{f"affixes_suffix_{i}": size for i, size in enumerate((87, 443, 917, 1632), 1)},
    "pos": 19,
    "head_tags": 54,
}
"""Vocabulary sizes of UD French-Sequoia: characters, and words and affixes seen twice, with padding and unknown; parts
of speech, also with them; labels of dependencies."""
STEPS_BEFORE = 10
"""Training steps before the first measurement, since attention is almost uniform at first."""
BASELINE = "simple_tagger"
TRAINING_TARGETS = {
    ("full", 5): Target(1.6, 1.5),
    ("full", "length"): Target(5.0, 4.0),
    ("single", 5): Target(1.25, 1.2),
    ("single", "length"): Target(2.5, 2.0),
}
FORMS = {"full": "NEF-F", "single": "NEF-S"}
Function = Callable[[], Any]


class Decoder(NamedTuple):
    sketch_update: str
    num_steps: int | str
    attention: str

    @property
    def short_title(self) -> str:
        steps = "L" if self.num_steps == "length" else self.num_steps
        return f"{FORMS[self.sketch_update]} N={steps}"

    @property
    def title(self) -> str:
        return f"{self.short_title}, {self.attention}"


DECODERS = [
    Decoder(form, steps, attention)
    for form in FORMS
    for steps in (5, 10, "length")
    for attention in ("csoftmax", "softmax")
]


@cache
def vocabulary(labels: int) -> Vocabulary:
    vocab = Vocabulary()
    for namespace, size in {**SIZES, "labels": labels}.items():
        for i in range(size - vocab.get_vocab_size(namespace)):
            vocab.add_token_to_namespace(str(i), namespace)
    return vocab


@cache
def experiment(name: str, knobs: str = "{}") -> dict[str, Any]:
    """The value of a config, with other values of its knobs."""
    path = json.dumps(str(ROOT / "training_configs" / f"{name}.jsonnet"))
    return json.loads(_jsonnet.evaluate_snippet(name, f"(import {path}) + {knobs}"))


def config() -> dict[str, Any]:
    """The experiment from which the models of parts 1, 2, 5 and 6 are made."""
    return experiment("pos_nef_f_csoftmax")


def nef_tagger(
    decoder: Decoder | None = None, dropout: float = 0.0, step_loss: str | None = None
) -> dict[str, Any]:
    """The config of `nef_tagger`, with or without a decoder; `step_loss` is "all" or "drawn"."""
    model = deepcopy(config()["model"])
    if step_loss is not None:
        model["step_loss"] = {"steps": step_loss}
    model["dropout"] = dropout
    if decoder is None:
        del model["decoder"]
    else:
        overrides = {**decoder._asdict(), "attention": {"type": decoder.attention}}
        model["decoder"].update(overrides, dropout=dropout)
    return model


def simple_tagger() -> dict[str, Any]:
    """The config of `simple_tagger` with the same embedders and the same BiLSTM."""
    model = nef_tagger()
    embedder = model["input_representation"]["text_field_embedder"]
    return {"type": BASELINE, "text_field_embedder": embedder, "encoder": model["encoder"]}


def moved(batch: Any, device: torch.device) -> Any:
    """A batch on a device."""
    if isinstance(batch, dict):
        return {name: moved(value, device) for name, value in batch.items()}
    return batch.to(device) if isinstance(batch, torch.Tensor) else batch


def affix_batch(sentences: int, tokens: int) -> dict[str, Any]:
    """A batch of words with affixes, whose tags can be learned."""

    def draw(*namespaces: str) -> torch.Tensor:
        columns = [torch.randint(2, SIZES[name], (sentences, tokens)) for name in namespaces]
        return torch.stack(columns, -1)

    words = draw("tokens").squeeze(-1)
    affixes = {
        f"{side}es": draw(*[f"affixes_{side}_{i}" for i in range(1, 5)])
        for side in ("prefix", "suffix")
    }
    return {"tokens": {"tokens": {"tokens": words}, "affixes": affixes}, "tags": words % LABELS}


class Run:
    """A model with its optimizer, and batches that repeat."""

    def __init__(
        self,
        settings: Settings,
        model: dict[str, Any],
        batches: list[dict[str, Any]],
        labels: int = LABELS,
        trainer: dict[str, Any] | None = None,
    ) -> None:
        torch.manual_seed(0)
        self.settings = settings
        self.model = Model.from_params(Params(deepcopy(model)), vocab=vocabulary(labels))
        self.model.to(settings.device).train()
        named = [pair for pair in self.model.named_parameters() if pair[1].requires_grad]
        self.parameters = [parameter for _, parameter in named]
        trainer = trainer or config()["trainer"]
        self.grad_norm = trainer["grad_norm"]
        optimizer = Params(deepcopy(trainer["optimizer"]))
        self.optimizer = Optimizer.from_params(optimizer, model_parameters=named)
        fuse_steps(self.optimizer, self.model)
        self.batches = cycle([moved(batch, settings.device) for batch in batches])

    def autocast(self) -> torch.autocast:
        settings = self.settings
        return torch.autocast(
            settings.device.type, dtype=torch.bfloat16, enabled=settings.low_precision
        )

    def started(self, action: "Action") -> Function:
        """The function to measure, after some training steps."""
        for _ in range(self.settings.rounds(STEPS_BEFORE)):
            self.train()
        self.model.train(action is Run.train)
        return partial(action, self)

    def train(self) -> None:
        """A training step, as in the trainer `nef`."""
        self.optimizer.zero_grad()
        with self.autocast():
            loss = self.model(**next(self.batches))["loss"]
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.parameters, self.grad_norm).item()
        self.optimizer.step()

    @torch.no_grad()
    def infer(self) -> None:
        """The forward pass without gold tags, with the probabilities, which AllenNLP's tagger computes in it."""
        with self.autocast():
            output = self.model(tokens=next(self.batches)["tokens"])
            if isinstance(self.model, NefTagger):
                _ = output["tagging"].probabilities

    @torch.no_grad()
    def parse(self) -> None:
        batch = next(self.batches)
        self.model(**{name: value for name, value in batch.items() if name[:5] != "head_"})


Action = Callable[[Run], None]


def started(settings: Settings, action: Action, model: dict[str, Any]) -> Function:
    torch.manual_seed(1)
    batches = [affix_batch(settings.batch_size, TOKENS) for _ in range(8)]
    return Run(settings, model, batches).started(action)


def training_steps(settings: Settings) -> list[Case]:
    """Part 1: forward pass, backward pass, gradient clipping by norm and Adagrad update."""
    cases = _cases(settings, Run.train, TRAINING_TARGETS)
    for decoder in (None, DECODERS[0]):
        model = nef_tagger(decoder, dropout=config()["model"]["dropout"])
        what = f"{decoder.title if decoder else 'no decoder'}, with dropout"
        cases.append(partial(_case, settings, Run.train, what, model))
    for decoder in DECODERS[::2]:
        for steps in ("all", "drawn") if decoder.num_steps != 10 else ():
            what, model = f"{decoder.title}, loss at {steps} steps", nef_tagger(decoder)
            ours = nef_tagger(decoder, step_loss=steps)
            baseline = ("loss at the last step", model)
            cases.append(partial(_case, settings, Run.train, what, ours, Target(2, 1.5), baseline))
    return cases + _floors(settings, Run.train)


def inference(settings: Settings) -> list[Case]:
    """Part 2: the forward pass, in evaluation and without gradient."""
    return _cases(settings, Run.infer, {}) + _floors(settings, Run.infer)


def _cases(settings: Settings, action: Action, targets: dict) -> list[Case]:
    cases: list[Case] = [partial(_case, settings, action, "no decoder", nef_tagger())]
    for decoder in DECODERS:
        target = targets.get((decoder.sketch_update, decoder.num_steps))
        model = nef_tagger(decoder)
        cases.append(partial(_case, settings, action, decoder.title, model, target))
    return cases


def _case(
    settings: Settings,
    action: Action,
    what: str,
    model: dict[str, Any],
    target: Target | None = None,
    baseline: tuple[str, dict[str, Any]] | None = None,
) -> list[Row]:
    name, other = baseline or (BASELINE, simple_tagger())
    ours, theirs = (started(settings, action, each) for each in (model, other))
    return [compare(settings, what, name, ours, theirs, target)]


def _floors(settings: Settings, action: Action) -> list[Case]:
    def floor(decoder: Decoder) -> list[Row]:
        baseline = started(settings, action, simple_tagger())
        products = matrix_products(settings, decoder, backward=action is Run.train)
        title = decoder.short_title
        what = f"floor of {title}: {BASELINE} and the matrix products of {title}"
        return [compare(settings, what, BASELINE, partial(_all, baseline, *products), baseline)]

    return [partial(floor, decoder) for decoder in DECODERS[::2]]


def _all(*functions: Function) -> None:
    for function in functions:
        function()


def matrix_products(settings: Settings, decoder: Decoder, backward: bool) -> list[Function]:
    """The matrix products of the forward pass, and with `backward` the two of the same size in the backward pass.

    W_h * h is computed once, and W_s * s at each step but the first, where s = 0. NEF-S updates one vector per
    sentence: it multiplies this vector by W_s, and the result by the attention.
    """
    model = Model.from_params(vocab=vocabulary(LABELS), params=Params(nef_tagger(decoder)))
    module, sentences = model.decoder, settings.batch_size
    steps = TOKENS if decoder.num_steps == "length" else int(decoder.num_steps)
    make = partial(products_of, settings, backward=backward)
    rows, window = module.sketch_weight.shape
    products = make(sentences * TOKENS, module.input_weight.size(1), rows)
    if decoder.sketch_update == "full":
        return products + make(sentences * TOKENS, window, rows) * (steps - 1)
    places = 2 * module.context_size + 1
    step = make(sentences, window // places, places * rows)
    step += make(TOKENS, places, rows, batch=sentences)
    return products + step * (steps - 1)


def products_of(
    settings: Settings, rows: int, inner: int, columns: int, batch: int = 1, backward: bool = True
) -> list[Function]:
    """A matrix product or a batch of them, and with `backward` the products for its two gradients."""
    sizes = (rows, inner), (inner, columns), (rows, columns)
    a, b, c = (torch.randn(batch, *size, device=settings.device) for size in sizes)
    pairs = ((a, b), (c, b.transpose(1, 2)), (a.transpose(1, 2), c))[: 3 if backward else 1]
    if batch > 1:
        return [partial(torch.bmm, x, y) for x, y in pairs]
    return [partial(torch.mm, x[0], y[0]) for x, y in pairs]


def product_rate(settings: Settings) -> float:
    """The rate of matrix products of the size of those in NEF-F, in 10^9 operations per second."""
    a, b = torch.randn(800, 250), torch.randn(250, 100)
    run = partial(torch.mm, a, b)
    calls = warm_up(settings, run)
    seconds = min(measure(settings, run, calls) for _ in range(settings.rounds(5)))
    return 2 * a.numel() * b.size(1) / seconds / 1e9


# Part 5

LENGTHS = (16, 32, 64, 128, 256, 512, 1024)
TIME_TARGETS = {5: Target(1.1, 1.05), "length": Target(2.1, 2.0)}


def run_of(settings: Settings, decoder: Decoder, *lengths: int) -> Run:
    """A `Run` with batches of one sentence."""
    torch.manual_seed(1)
    batches = [affix_batch(1, length) for length in lengths]
    return Run(settings, nef_tagger(decoder), batches)


def extra_memory(settings: Settings, decoder: Decoder, length: int) -> float:
    """The peak memory of a training step minus the memory before it, in MB. Call it in a new process.

    Before the step the process holds the model, its gradients and the optimizer's state, after a step with two words.
    """
    torch.set_num_threads(settings.threads)
    run = run_of(settings, decoder, 2, length)
    run.train()
    return peak_above(run.train)


def scaling(settings: Settings) -> list[Case]:
    """Part 5: time and memory of a training step of one sentence, by its length; NEF-F with csoftmax.

    The time of short sentences is mostly overhead, so there is a second fit from 128 words on; memory is large enough
    to be measured from 256 words on.
    """
    lengths = LENGTHS[:2] if settings.quick else LENGTHS

    def time_case(decoder: Decoder) -> list[Row]:
        steps = [run_of(settings, decoder, length).train for length in lengths]
        rounds = rounds_of(settings, steps)
        what, target = f"exponent of time, {decoder.short_title}", TIME_TARGETS[decoder.num_steps]
        rows = (exponent_row(what, lengths, rounds, least, target) for least in (0, 128))
        return [row for row in rows if row]

    def memory_case(decoder: Decoder) -> list[Row]:
        jobs = [(settings, decoder, length) for length in lengths]
        rounds = [in_new_processes(extra_memory, jobs) for _ in range(settings.rounds(3))]
        name = f"peak memory, {decoder.short_title}"
        target = Target(600, 100) if decoder.num_steps == "length" else None
        fitted = exponent_row(f"exponent of {name}", lengths, rounds, 256)
        what, last = f"{name}, {lengths[-1]:,} words", [values[-1] for values in rounds]
        peak = Row(what, "", last, target, "MB", {"lengths": lengths, "rounds": rounds})
        return [row for row in (fitted, peak) if row]

    decoders = [Decoder("full", steps, "csoftmax") for steps in TIME_TARGETS]
    return [partial(case, each) for case in (time_case, memory_case) for each in decoders]


# Part 7

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


class WithoutMarginals:
    def probabilities(self, scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return torch.zeros_like(scores)


@TagHead.register("viterbi_only", exist_ok=True)
class ViterbiOnly(WithoutMarginals, CrfTagHead):
    """Our CRF without its marginals."""


@TagHead.register("allennlp_crf", exist_ok=True)
class AllenNlpCrf(WithoutMarginals, AffineTagHead):
    """AllenNLP's CRF, which has no marginals."""

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


def letter_batch(labels: int) -> dict[str, Any]:
    """A batch of words of 1 to `LETTERS` letters, whose tags can be learned."""
    shape = BATCH, TOKENS
    words = torch.randint(2, SIZES["tokens"], shape)
    letters = torch.randint(2, SIZES["token_characters"], (*shape, LETTERS))
    letters[torch.arange(LETTERS) >= torch.randint(1, LETTERS + 1, (*shape, 1))] = 0
    tokens = {"tokens": {"tokens": words}, "characters": {"token_characters": letters}}
    return {"tokens": tokens, "tags": words % labels}


def tagger(
    settings: Settings, kind: str, labels: int, config: dict[str, Any], head: str | None = None
) -> Function:
    """The function to measure: of the tagger of a config, with another tag head if one is named."""
    torch.manual_seed(1)
    batches = [letter_batch(labels) for _ in range(8)]
    model = config["model"]
    if head is not None:
        model = {**model, "tag_head": {"type": head, "average": "none"}}
    return Run(settings, model, batches, labels, config["trainer"]).started(ACTIONS[kind])


def baselines(settings: Settings) -> list[Case]:
    """Training steps and decoding of LAN by number of tags, and of PSA."""
    cases: list[Case] = []
    for kind in ACTIONS:
        for labels in TAGS[1:2] if settings.quick else TAGS:
            cases.append(partial(_label_attention, settings, kind, labels))
        cases.append(partial(_self_attention, settings, kind))
    return cases


def _label_attention(settings: Settings, kind: str, labels: int) -> list[Row]:
    layers = "{ num_layers:: 3 }"
    lan, crf = experiment("pos_lan"), experiment("pos_lan_bilstm_crf", layers)
    is_training = kind == "training"
    run = partial(tagger, settings, kind, labels)
    # Training computes no marginals.
    baseline, theirs = (CRF, run(crf)) if is_training else (VITERBI, run(crf, "viterbi_only"))
    bilstm = run(experiment("pos_lan_bilstm_softmax", layers))
    ours, other = run(lan), run(crf, "allennlp_crf")
    title = f"{kind}, {labels} tags"
    rows = [
        compare(settings, f"LAN, {title}", baseline, ours, theirs, LAN_TARGETS.get((kind, labels))),
        compare(settings, f"{SOFTMAX}, {title}", baseline, bilstm, theirs),
        compare(settings, f"LAN, {title}", ALLENNLP, ours, other),
    ]
    if not is_training:
        rows.append(compare(settings, f"LAN, {title}", CRF, ours, run(crf)))
    return rows


def _self_attention(settings: Settings, kind: str) -> list[Row]:
    psa, crf = experiment("pos_psa"), experiment("pos_psa", "{ order:: ['bilstm'] }")
    run = partial(tagger, settings, kind, LABELS)
    ours, theirs, other = run(psa), run(crf), run(crf, "allennlp_crf")
    target = Target(1.6, 1.15) if kind == "training" else None
    return [
        compare(settings, f"PSA, {kind}", CRF, ours, theirs, target),
        compare(settings, f"PSA, {kind}", ALLENNLP, ours, other),
    ]


# Part 10


def tree_batch(sentences: int) -> dict[str, Any]:
    """Each word hangs on the one before it, with a label that can be learned."""
    shape = sentences, TOKENS
    words: Sequence[Any] = [torch.randint(2, SIZES[name], shape) for name in ("tokens", "pos")]
    return {
        "words": {"tokens": {"tokens": words[0]}},
        "pos_tags": words[1],
        "head_indices": torch.arange(TOKENS).expand(shape),
        "head_tags": words[0] % SIZES["head_tags"],
        "metadata": [{"words": [], "pos": []}] * sentences,
    }


def parsing(settings: Settings) -> list[Case]:
    """Part 10: a training step and the parsing of a batch."""
    try:
        import allennlp_models.structured_prediction  # noqa: F401  # registers the parser
    except ImportError:
        return []

    def case(what: str, action: Action) -> list[Row]:
        torch.manual_seed(1)
        batches = [tree_batch(settings.rounds(16)) for _ in range(8)]
        runs = []
        for name in ("parse_arc_mlp", "parse_biaffine"):
            config = experiment(name, "{ word_dropout:: 0 }")
            run = Run(settings, config["model"], batches, trainer=config["trainer"])
            runs.append(run.started(action))
        return [compare(settings, f"arc_mlp_parser, {what}", "biaffine_parser", *runs)]

    return [partial(case, "training step", Run.train), partial(case, "parsing", Run.parse)]
