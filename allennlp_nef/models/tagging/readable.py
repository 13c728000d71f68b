"""What a tagger puts out for a batch, as entries for each sentence."""

from collections.abc import Sequence
from typing import Any

import torch

from allennlp_nef.data.formats.chunks import chunks_of
from allennlp_nef.data.metadata import TaggingMetadata, tagging_metadata, thresholds_of
from allennlp_nef.modules.tag_heads import TagHead
from allennlp_nef.modules.tag_heads.tag_head import ChainProbabilities
from allennlp_nef.modules.traces import Decision, EncoderTrace, ReadableTrace, TracedSentence

Entries = dict[str, list[Any]]
"""Values by name, one a sentence."""


def readable_output(tag_head: TagHead, output: dict[str, Any], has_chunks: bool) -> dict[str, Any]:
    """What `NefTagger.make_output_human_readable` makes of an output."""
    mask, labels = output["mask"], tag_head.labels
    rows = zip(output["tag_ids"].tolist(), mask.sum(-1).tolist())
    tags = [[labels[tag] for tag in row[:length]] for row, length in rows]
    readable: dict[str, Any] = {"tags": tags}
    if "sentence_score" in output:
        readable["sentence_score"] = output["sentence_score"].tolist()
    if "steps" in output:
        readable["steps"] = output["steps"]
    if "loss" in output and output["loss"].requires_grad:
        readable["loss"] = output["loss"]
    metadata = output.get("metadata")
    if metadata is not None:
        readable["metadata"] = metadata
    items = tagging_metadata(metadata)
    if items and all(items):
        readable["tokens"] = [item.tokens for item in items if item]
    if "scores" in output:
        tokens = readable.get("tokens")
        readable.update(readable_probabilities(tag_head, output, tags, tokens, has_chunks))
    if "trace" in output:
        readable.update(readable_trace(output["trace"], tag_head, mask, tags, items))
    return readable


def readable_probabilities(
    tag_head: TagHead,
    output: dict[str, Any],
    tags: Sequence[list[str]],
    tokens: Sequence[list[str]] | None,
    has_chunks: bool,
) -> Entries:
    """`probabilities`, `label_probabilities` and, if the tags are those of chunks, `spans`.

    # Parameters

    tag_head : `TagHead`
    output : `dict[str, Any]`
        With `scores`, `mask` and `tag_ids`.
    tags : `Sequence[list[str]]`
        The predicted labels of each sentence.
    tokens : `Sequence[list[str]]`
        The words of each sentence, where known.
    has_chunks : `bool`
    """
    scores, mask, tag_ids = output["scores"], output["mask"], output["tag_ids"]
    if has_chunks:
        chain = tag_head.chain_probabilities(scores, mask, tag_ids)
        table = chain.words.float()
    else:
        table = tag_head.probabilities(scores, mask).float()
    chosen = table.gather(-1, tag_ids.unsqueeze(-1)).squeeze(-1).tolist()
    entries: Entries = {
        "probabilities": [row[: len(each)] for row, each in zip(chosen, tags)],
        "label_probabilities": [rows[: len(each)] for rows, each in zip(table.cpu().numpy(), tags)],
    }
    if has_chunks:
        entries["spans"] = _spans(tag_head, chain, mask, tag_ids, tags, tokens)
    return entries


def _spans(
    tag_head: TagHead,
    chain: ChainProbabilities,
    mask: torch.Tensor,
    tag_ids: torch.Tensor,
    tags: Sequence[list[str]],
    tokens: Sequence[list[str]] | None,
) -> list[list[dict[str, Any]]]:
    """The predicted chunks of each sentence, as JSON objects."""
    chunks = [chunks_of(each) for each in tags]
    probabilities = tag_head.chunk_probabilities(chain, mask, tag_ids, chunks)
    return [
        [
            {
                **chunk._asdict(),
                **({"text": " ".join(words[chunk.start : chunk.end])} if words else {}),
                "probability": probability,
            }
            for chunk, probability in zip(*sentence)
        ]
        for words, *sentence in zip(tokens or [[]] * len(chunks), chunks, probabilities)
    ]


def readable_trace(
    trace: EncoderTrace,
    tag_head: TagHead,
    mask: torch.Tensor,
    tags: Sequence[list[str]],
    metadata: Sequence[TaggingMetadata | None],
) -> Entries:
    """`attention` and `trace`, with None for the sentences that do not want it."""

    def decide(output: torch.Tensor) -> Decision:
        scores = tag_head.scores(output)
        tag_ids = tag_head.tags(scores, mask, thresholds_of(metadata))
        return Decision(tag_ids, tag_head.probabilities(scores, mask))

    attention: list[list[list[float]] | None] = [None] * len(tags)
    wanted = []
    for position, (item, each) in enumerate(zip(metadata, tags)):
        if item is not None and item.attention:
            weights = trace.attention_of(position, len(each))
            attention[position] = None if weights is None else weights.tolist()
        if item is not None and item.trace:
            wanted.append(TracedSentence(position, item.tokens, each))
    traces: list[ReadableTrace | None] = [None] * len(tags)
    if wanted:
        for sentence, readable in zip(wanted, trace.readable(wanted, decide, tag_head.labels)):
            traces[sentence.position] = readable
    return {"attention": attention, "trace": traces}
