"""What a tagger is, in words for a reader."""

from typing import NamedTuple

from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder

from allennlp_nef.models.encoding import parts_of
from allennlp_nef.models.tagging.nef_tagger import NefTagger
from allennlp_nef.models.tagging.nef_tagger_ensemble import NefTaggerEnsemble
from allennlp_nef.modules.registered_name import registered_name
from allennlp_nef.modules.seq2seq_encoders import DropoutEncoder, TracedEncoder
from allennlp_nef.modules.tag_heads import CrfTagHead, LabelAttentionTagHead


class Description(NamedTuple):
    """What plots, and a page for the model, show of a tagger."""

    title: str
    """Such as "NEF-F csoftmax, N = 5"."""
    labels: list[str]
    """All tags."""
    has_chunks: bool
    """Whether the tags are those of chunks, such as entities."""
    step_name: str | None
    """What a row of its trace is; None where it has no trace."""


def description_of(model: NefTagger) -> Description:
    """The description of a tagger. An ensemble has no trace."""
    if isinstance(model, NefTaggerEnsemble):
        members = [description_of(member) for member in model.taggers]
        titles = ", ".join(dict.fromkeys(member.title for member in members))
        title = f"ensemble of {model.ensemble_size}: {titles}"
        return members[0]._replace(title=title, step_name=None)
    encoders = [encoder for encoder in (model.encoder, model.decoder) if encoder is not None]
    parts = [part for encoder in encoders for part in parts_of(encoder)]
    last = parts[-1]
    if isinstance(last, TracedEncoder):
        title, step_name = last.title, last.step_name
    else:
        title = " + ".join(
            registered_name(Seq2SeqEncoder, part)
            for part in parts
            if not isinstance(part, DropoutEncoder)
        )
        step_name = None
        if isinstance(model.tag_head, LabelAttentionTagHead):
            title += " + label attention"
    if isinstance(model.tag_head, CrfTagHead):
        title += " + CRF"
    labels = model.vocab.get_index_to_token_vocabulary(model.label_namespace)
    return Description(
        title,
        [labels[i] for i in sorted(labels)],
        model.has_chunks,
        step_name,
    )
