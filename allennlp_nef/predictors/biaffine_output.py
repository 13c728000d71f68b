"""The trees of allennlp-models' `biaffine_parser` with their probabilities, which its output does not have."""

from collections.abc import Sequence
from typing import Any

import torch
from allennlp.data import Instance
from allennlp.models import Model

from allennlp_nef.modules.spanning_trees import spanning_tree_heads
from allennlp_nef.nn.parsing import with_root_label

_PARTS = ("arc_attention", "head_tag_feedforward", "child_tag_feedforward")


def biaffine_outputs(model: Model, instances: Sequence[Instance]) -> list[dict[str, Any]]:
    """For each instance, which has no gold tree, what `ArcMlpParser.make_output_human_readable` names.

    The heads are those of the model. Where they have several roots, they are those of the best tree with one root, by
    the probabilities of the heads. The root gets the label `root`, and no other word does.
    """
    made: dict[str, torch.Tensor] = {}
    hooks = []
    for name in _PARTS:

        def keep(module: torch.nn.Module, inputs: Any, output: Any, name: str = name) -> None:
            made[name] = output

        hooks.append(getattr(model, name).register_forward_hook(keep))
    try:
        outputs: Any = model.forward_on_instances(list(instances))
    finally:
        for hook in hooks:
            hook.remove()
    parser: Any = model
    arcs = made["arc_attention"].detach()  # (batch, words + 1, words + 1): [word, head]
    lengths = [len(output["predicted_heads"]) for output in outputs]
    found = torch.zeros(arcs.shape[:2], dtype=torch.long, device=arcs.device)
    chances = torch.zeros_like(arcs)
    for row, (output, length) in enumerate(zip(outputs, lengths)):
        inside = arcs[row, 1 : length + 1, : length + 1].clone()
        inside[:, 1:].fill_diagonal_(float("-inf"))
        chances[row, 1 : length + 1, : length + 1] = inside.softmax(-1)
        heads = [int(head) for head in output["predicted_heads"]]
        if heads.count(0) != 1:
            finite = inside.log_softmax(-1).clamp(min=-1e4).cpu().numpy()
            heads = spanning_tree_heads(finite[None], [length])[0].tolist()
        found[row, 1 : length + 1] = torch.tensor(heads, device=arcs.device)
    with torch.no_grad():
        logits = parser._get_head_tags(*(made[name] for name in _PARTS[1:]), found)
    root = model.vocab.get_token_to_index_vocabulary("head_tags").get("root")
    best, labels = with_root_label(logits, found, root).softmax(-1).max(-1)
    head_chances = chances.gather(-1, found.unsqueeze(-1)).squeeze(-1)
    names = model.vocab.get_index_to_token_vocabulary("head_tags")
    answers = []
    for row, length in enumerate(lengths):
        words = slice(1, length + 1)
        answers.append(
            {
                "predicted_heads": found[row, words].tolist(),
                "predicted_dependencies": [names[i] for i in labels[row, words].tolist()],
                "head_probabilities": head_chances[row, words].tolist(),
                "label_probabilities": best[row, words].tolist(),
            }
        )
    return answers
