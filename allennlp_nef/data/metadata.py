"""What instances carry besides tensors."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from allennlp.data import Instance

from allennlp_nef.data.formats.characters import SplitText
from allennlp_nef.data.formats.conll_columns import ColumnSentence
from allennlp_nef.data.formats.conllu import ConlluSentence
from allennlp_nef.data.formats.wmt_layouts import split_tokens
from allennlp_nef.data.formats.wmt_segments import Segment


@dataclass
class TaggingMetadata:
    """What an instance of this package's readers carries besides its tensors.

    A class of its own rather than a dict: AllenNLP searches lists and dicts for tensors, word by word, in each batch.
    """

    tokens: list[str]
    """The words that are tagged."""
    source: list[str] | None = None
    """The words of the source sentence, in quality estimation."""
    tags: list[str] | None = None
    """The gold labels, one a token, where known."""
    sentence: ColumnSentence | ConlluSentence | None = None
    """The sentence as it stood in its file, where it came from a file of CoNLL columns or CoNLL-U."""
    alignments: Sequence[Sequence[int]] | None = None
    """Pairs (source index, target index), from 0, where there is a source."""
    alignments_from: str | None = None
    """Where the alignments come from: "given"; "computed" by the model's aligner; "none", there are none. None without
    a source."""
    weight: float = 1.0
    """The weight of the sentence in the loss."""
    text: str | None = None
    """The original text of what is tagged; of a list of words, the words joined by single blanks."""
    offsets: list[tuple[int, int]] | None = None
    """The start and the end of each token in the text; None where the tokens are those between whitespace."""
    spans: Sequence[tuple[int, int, str]] | None = None
    """The start, the end and the severity of each gold error in the text, where known."""
    target: list[str] | None = None
    """The words of the translation, where the tokens are others."""
    tagged: str | None = None
    """What the tokens are, as `wmt_word_qe` names it, where they are others than the words of the translation."""
    post_edit: list[str] | None = None
    """The words of the translation as a person corrected it, where known."""
    segment: Segment | None = None
    """What the file says of the translation, of a file of segments of WMT24 to 26."""
    document: str | None = None
    """The name of the document that the sentence is from, where known."""
    id: Any = None
    """That of the request, a JSON value; None where it has none."""

    def __len__(self) -> int:
        """The number of tokens. Samplers without sorting keys ask each field for its length."""
        return len(self.tokens)

    def __getitem__(self, name: str) -> list[str]:
        """The words, under the name that the taggers of AllenNLP ask for: "words"."""
        if name != "words":
            raise KeyError(name)
        return self.tokens

    @property
    def sides(self) -> list[list[str]]:
        """The tokens, and in quality estimation the words of both sides."""
        return [side for side in (self.tokens, self.source, self.target) if side]

    def split_text(self) -> SplitText:
        """The text and the place of each token; of an `<EOS>` that the text lacks, an empty one at its end."""
        return split_tokens(self.tokens, self.text, self.offsets)

    def to_json(self) -> dict[str, Any]:
        """What AllenNLP writes of it, in `allennlp evaluate --predictions-output-file`."""
        return {"tokens": self.tokens, "source": self.source, "tags": self.tags}


@dataclass
class SentencesMetadata:
    """What an instance of sentences without tags carries besides its tensors."""

    sides: list[list[str]]
    """The words of the sentence, or of both sentences of a pair."""
    id: Any = field(default=None, kw_only=True)
    """That of the request, a JSON value; None where it has none."""

    def __len__(self) -> int:
        """The number of words of the longest. Samplers without sorting keys ask each field for its length."""
        return max(map(len, self.sides))

    def to_json(self) -> dict[str, Any]:
        """What AllenNLP writes of it, in `allennlp evaluate --predictions-output-file`."""
        return {"sentences": self.sides}


@dataclass
class ParsingMetadata(SentencesMetadata):
    """What an instance of a sentence with a dependency tree carries besides its tensors."""

    tags: list[str]
    """The part of speech of each word; "_" where it is not known."""
    sentence: ConlluSentence | None = None
    """The sentence as it stood in its file, where it came from one."""

    def __getitem__(self, name: str) -> list[str]:
        """The words and the tags, under the names that AllenNLP's parser asks for: "words" and "pos"."""
        return {"words": self.sides[0], "pos": self.tags}[name]


def tagging_metadata(metadata: Iterable[object] | None) -> list[TaggingMetadata | None]:
    """The metadata of a batch, with None for each instance of another reader."""
    return [item if isinstance(item, TaggingMetadata) else None for item in metadata or ()]


def metadata_of(instance: Instance) -> TaggingMetadata:
    """The metadata of an instance of this package's readers."""
    field: Any = instance["metadata"]
    return field.metadata


def weights_of(metadata: Iterable[TaggingMetadata | None]) -> torch.Tensor | None:
    """The weights of the sentences of a batch, (batch,); None where all are 1."""
    weights = [1.0 if item is None else item.weight for item in metadata]
    return None if all(weight == 1 for weight in weights) else torch.tensor(weights)
