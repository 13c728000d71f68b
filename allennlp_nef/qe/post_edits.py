"""Computes labels from post-edits: tags for words and gaps, and HTER.

The edits that turn a translation into its post-edit are TER edits (Snover et al., AMTA 2006), computed by sacrebleu. As
in MLQE-PE, words are aligned case-insensitively and without shifts, and an aligned word is OK if it matches exactly.
HTER allows shifts and ignores case.
"""

from collections.abc import Sequence

from allennlp_nef.errors import require_extra
from allennlp_nef.qe.layouts import BAD, OK


def tags_of(translation: Sequence[str], post_edit: Sequence[str]) -> list[str]:
    """Returns the 2n+1 tags of a translation of n words: gap, word, gap, ..., gap.

    A word is BAD if it is deleted or replaced, and a gap is BAD if words of the post-edit are missing there.
    """
    with require_extra("ter", "post-edits"):
        from sacrebleu.metrics.lib_ter import BeamEditDistance

    _, edits = BeamEditDistance(_lower(post_edit))(_lower(translation))
    tags = [OK]
    position = 0  # in the post-edit
    for edit in edits:
        if edit == "i":
            tags[-1] = BAD
        else:
            is_same = edit != "d" and translation[len(tags) // 2] == post_edit[position]
            tags += [OK if is_same else BAD, OK]
        position += edit != "d"
    return tags


def hter_of(translation: Sequence[str], post_edit: Sequence[str]) -> float:
    """Returns the number of edits, including shifts, per word of the post-edit, capped at 1."""
    with require_extra("ter", "post-edits"):
        from sacrebleu.metrics.lib_ter import translation_edit_rate

    edits, words = translation_edit_rate(_lower(translation), _lower(post_edit))
    return min(1.0, edits / max(1, words))


def _lower(words: Sequence[str]) -> list[str]:
    return [word.lower() for word in words]
