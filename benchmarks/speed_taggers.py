"""Parts 1 and 2 of `speed.py`: a training step, and inference, of `nef_tagger` against AllenNLP's `simple_tagger`.

Both have the dimensions and the optimizer of `training_configs/pos_*`, and sentences of 25 random words. The
vocabulary has the size of that of UD French-Sequoia, since optimizer and gradient norm process all of its embeddings.
`simple_tagger` has no dropout, so ours has none either, except in the rows "with dropout".
"""

from collections.abc import Callable
from copy import deepcopy
from functools import cache, partial
from itertools import cycle
from typing import Any, NamedTuple

import torch
from allennlp.common import Params
from allennlp.data import Vocabulary
from allennlp.models import Model
from allennlp.training.optimizers import Optimizer
from speed_harness import (
    ROOT,
    Case,
    Row,
    Settings,
    Target,
    compare,
    measure,
    warm_up,
    without_kernels,
)

from allennlp_nef.models import NefTagger
from allennlp_nef.training.fused_steps import fuse_steps

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


class Decoder(NamedTuple):
    sketch_update: str
    num_steps: int | str
    attention: str

    @property
    def title(self) -> str:
        steps = "L" if self.num_steps == "length" else self.num_steps
        return f"{FORMS[self.sketch_update]} N={steps}, {self.attention}"

    def overrides(self) -> dict[str, Any]:
        """The changes to the config of a decoder."""
        return {**self._asdict(), "attention": {"type": self.attention}}


Action = Callable[["Run"], None]
DECODERS = [
    Decoder(form, steps, attention)
    for form in FORMS
    for steps in (5, 10, "length")
    for attention in ("csoftmax", "softmax")
]


@cache
def vocabulary(labels: int = LABELS) -> Vocabulary:
    vocab = Vocabulary()
    for namespace, size in {**SIZES, "labels": labels}.items():
        for i in range(size - vocab.get_vocab_size(namespace)):
            vocab.add_token_to_namespace(str(i), namespace)
    return vocab


@cache
def config() -> dict[str, Any]:
    """The experiment from which the models are made."""
    return Params.from_file(str(ROOT / "training_configs" / "pos_nef_f_csoftmax.jsonnet")).as_dict()


def nef_tagger(
    *decoder: Decoder, dropout: float = 0.0, step_loss: str | None = None
) -> dict[str, Any]:
    """The config of `nef_tagger`, with or without a decoder; `step_loss` is "all" or "drawn"."""
    model = deepcopy(config()["model"])
    if step_loss is not None:
        model["step_loss"] = {"steps": step_loss}
    model["dropout"] = dropout
    if decoder:
        model["decoder"].update(decoder[0].overrides(), dropout=dropout)
    else:
        del model["decoder"]
    return model


def simple_tagger() -> dict[str, Any]:
    """The config of `simple_tagger` with the same embedders and the same BiLSTM."""
    model = nef_tagger()
    embedder = model["input_representation"]["text_field_embedder"]
    return {"type": BASELINE, "text_field_embedder": embedder, "encoder": model["encoder"]}


def random_batch(settings: Settings, sentences: int, tokens: int) -> dict[str, Any]:
    """A batch whose tags can be learned."""

    def draw(*namespaces: str) -> torch.Tensor:
        columns = [torch.randint(2, SIZES[name], (sentences, tokens)) for name in namespaces]
        return torch.stack(columns, -1).to(settings.device)

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
        self.model = Model.from_params(Params(deepcopy(model)), vocab=vocabulary(labels))
        self.model.to(settings.device).train()
        named = [pair for pair in self.model.named_parameters() if pair[1].requires_grad]
        self.parameters = [parameter for _, parameter in named]
        trainer = trainer or config()["trainer"]
        self.grad_norm = trainer["grad_norm"]
        optimizer = Params(deepcopy(trainer["optimizer"]))
        self.optimizer = Optimizer.from_params(optimizer, model_parameters=named)
        fuse_steps(self.optimizer, self.model)
        self.batches = cycle(batches)
        self._autocast = partial(
            torch.autocast,
            settings.device.type,
            dtype=torch.bfloat16,
            enabled=settings.low_precision,
        )

    def started(self, settings: Settings, action: Action) -> Callable[[], None]:
        """The function to measure, after some training steps."""
        for _ in range(settings.rounds(STEPS_BEFORE)):
            self.train()
        self.model.train(action is Run.train)
        return partial(action, self)

    def train(self) -> None:
        """A training step, as in the trainer `nef`."""
        self.optimizer.zero_grad()
        with self._autocast():
            loss = self.model(**next(self.batches))["loss"]
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.parameters, self.grad_norm).item()
        self.optimizer.step()

    @torch.no_grad()
    def infer(self) -> None:
        """The forward pass without gold tags, with the probabilities, which AllenNLP's tagger computes in it."""
        with self._autocast():
            output = self.model(tokens=next(self.batches)["tokens"])
            if isinstance(self.model, NefTagger):
                self.model.tag_head.probabilities(output["scores"], output["mask"])


def training_steps(settings: Settings) -> list[Case]:
    """Part 1: forward pass, backward pass, gradient clipping by norm and Adagrad update."""
    cases = _cases(settings, Run.train, TRAINING_TARGETS)
    for decoder in ((), DECODERS[:1]):
        model = nef_tagger(*decoder, dropout=config()["model"]["dropout"])
        what = f"{_title(*decoder)}, with dropout"
        cases.append(partial(_case, settings, Run.train, what, model))
    for decoder in DECODERS[::2]:
        for steps in ("all", "drawn") if decoder.num_steps != 10 else ():
            cases.append(partial(_step_loss_case, settings, decoder, steps))
    return cases + _floor_cases(settings, Run.train)


def _step_loss_case(settings: Settings, decoder: Decoder, steps: str) -> list[Row]:
    """A training step with a loss at other steps than the last one, over the same without it."""
    what = f"{decoder.title}, loss at {steps} steps"
    model, baseline = nef_tagger(decoder, step_loss=steps), nef_tagger(decoder)
    target = Target(2, 1.5)
    return _case(settings, Run.train, what, model, target, baseline, "loss at the last step")


def _floor_cases(settings: Settings, action: Action) -> list[Case]:
    return [partial(_floor_case, settings, action, decoder) for decoder in DECODERS[::2]]


def _floor_case(settings: Settings, action: Action, decoder: Decoder) -> list[Row]:
    """A lower bound of the time: the baseline's step and the matrix products of the decoder, without anything else."""
    torch.manual_seed(1)
    batches = [random_batch(settings, settings.batch_size, TOKENS) for _ in range(8)]
    baseline = Run(settings, simple_tagger(), batches).started(settings, action)
    products = matrix_products(settings, decoder, backward=action is Run.train)

    def with_products() -> None:
        baseline()
        for product in products:
            product()

    title = decoder.title.split(",")[0]
    what = f"floor of {title}: {BASELINE} and the matrix products of {title}"
    return [compare(settings, what, BASELINE, with_products, baseline)]


def matrix_products(
    settings: Settings, decoder: Decoder, backward: bool = True
) -> list[Callable[[], Any]]:
    """The matrix products of the forward pass, and with `backward` the two of the same size in the backward pass.

    W_h * h is computed once, and W_s * s at each step but the first, where s = 0. NEF-S updates one vector per
    sentence: it multiplies this vector by W_s, and the result by the attention.
    """
    module = Model.from_params(vocab=vocabulary(), params=Params(nef_tagger(decoder))).decoder
    words = settings.batch_size * TOKENS
    steps = TOKENS if decoder.num_steps == "length" else int(decoder.num_steps)

    make = partial(products_of, settings, backward=backward)
    rows, window = module.sketch_weight.shape
    products = make(words, module.input_weight.size(1), rows)
    if decoder.sketch_update == "full":
        return products + make(words, window, rows) * (steps - 1)
    places = 2 * module.context_size + 1
    step = make(settings.batch_size, window // places, places * rows)
    step += make(TOKENS, places, rows, batch=settings.batch_size)
    return products + step * (steps - 1)


def products_of(
    settings: Settings,
    rows: int,
    inner: int,
    columns: int,
    batch: int = 1,
    backward: bool = True,
) -> list[Callable[[], Any]]:
    """A matrix product or a batch of them, and with `backward` the products for its two gradients."""
    a, b, c = (
        torch.randn(batch, *size, device=settings.device)
        for size in ((rows, inner), (inner, columns), (rows, columns))
    )
    pairs = (a, b), (c, b.transpose(1, 2)), (a.transpose(1, 2), c)
    return [
        partial(torch.bmm if batch > 1 else _mm, x, y) for x, y in pairs[: 3 if backward else 1]
    ]


def _mm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a[0].mm(b[0])


def product_rate(settings: Settings) -> float:
    """The rate of matrix products of the size of those in NEF-F, in 10^9 operations per second."""
    a, b = torch.randn(800, 250), torch.randn(250, 100)
    run = partial(torch.mm, a, b)
    calls = warm_up(settings, run)
    seconds = min(measure(settings, run, calls) for _ in range(settings.rounds(5)))
    return 2 * a.numel() * b.size(1) / seconds / 1e9


def inference(settings: Settings) -> list[Case]:
    """Part 2: the forward pass, in evaluation and without gradient."""
    return _cases(settings, Run.infer, {}) + _floor_cases(settings, Run.infer)


def _cases(settings: Settings, action: Action, targets: dict) -> list[Case]:
    cases: list[Case] = [partial(_case, settings, action, _title(), nef_tagger())]
    for decoder in DECODERS:
        target = targets.get((decoder.sketch_update, decoder.num_steps))
        model = nef_tagger(decoder)
        cases.append(partial(_case, settings, action, decoder.title, model, target))
        rows_in_torch = DECODERS[:1] if settings.quick else DECODERS[::2]
        if settings.has_kernels and decoder in rows_in_torch:
            what = f"{decoder.title}, without kernels"
            cases.append(partial(_case, settings, action, what, model, in_torch=True))
    return cases


def _case(
    settings: Settings,
    action: Action,
    what: str,
    model: dict[str, Any],
    target: Target | None = None,
    baseline: dict[str, Any] | None = None,
    name: str = BASELINE,
    in_torch: bool = False,
) -> list[Row]:
    torch.manual_seed(1)
    batches = [random_batch(settings, settings.batch_size, TOKENS) for _ in range(8)]
    runs = [Run(settings, some, batches) for some in (model, baseline or simple_tagger())]
    ours, theirs = (run.started(settings, action) for run in runs)
    ours = without_kernels(ours) if in_torch else ours
    return [compare(settings, what, name, ours, theirs, target)]


def _title(*decoder: Decoder) -> str:
    return decoder[0].title if decoder else "no decoder"
