"""Token embedders."""

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.modules.token_embedders import TokenEmbedder
from overrides import overrides
from torch.nn import functional

from allennlp_nef.data.affixes import CASES, affix_namespaces
from allennlp_nef.modules.pretrained_transformer import (
    Pieces,
    PretrainedTransformer,
    padded,
    words_of,
)


@TokenEmbedder.register("affixes")
class AffixesEmbedder(TokenEmbedder):
    """Embeds the prefixes and the suffixes of a word: the sum over the prefixes beside the sum over the suffixes.

    Section 5.1 of Martins & Kreutzer (EMNLP 2017): a table for each length and side. With the 64-dimensional words of
    the paper, the input has 64 + 50 + 50 = 164 dimensions. Registered as a `TokenEmbedder` with name "affixes".

    # Parameters

    vocab : `Vocabulary`
        Filled in by AllenNLP.
    embedding_dim : `int`, optional (default = `50`)
        At least 1, for each side.
    namespace : `str`, optional (default = `"affixes"`)
        The same as in the indexer.
    max_length : `int`, optional (default = `4`)
        The same as in the indexer.
    case_dim : `int`, optional (default = `0`)
        Above 0, an embedding of the case of the word with this dimension is added. The indexer needs `case`.
    """

    prefix_offsets: torch.Tensor
    suffix_offsets: torch.Tensor

    def __init__(
        self,
        vocab: Vocabulary,
        embedding_dim: int = 50,
        namespace: str = "affixes",
        max_length: int = 4,
        case_dim: int = 0,
    ) -> None:
        super().__init__()
        if embedding_dim < 1 or case_dim < 0:
            raise ConfigurationError(
                "embedding_dim, case_dim: expected at least 1 and at least 0, "
                f"got {embedding_dim} and {case_dim}"
            )
        self._prefixes, self._suffixes = affix_namespaces(namespace, max_length)
        if not vocab.get_namespaces().intersection(self._prefixes):
            raise ConfigurationError(
                f"namespace: the vocabulary has no affixes in {namespace!r}; the training data are too few for "
                "vocabulary.min_count, or the affixes indexer has another namespace"
            )
        self.prefix_weight = _tables(vocab, self._prefixes, embedding_dim)
        self.suffix_weight = _tables(vocab, self._suffixes, embedding_dim)
        for side, names in (("prefix", self._prefixes), ("suffix", self._suffixes)):
            self.register_buffer(f"{side}_offsets", _offsets(vocab, names), persistent=False)
        # Index 0 is padding.
        self.case_embedding = torch.nn.Embedding(len(CASES) + 1, case_dim) if case_dim else None
        self._output_dim = 2 * embedding_dim + case_dim

    @overrides
    def get_output_dim(self) -> int:
        return self._output_dim

    @overrides(check_signature=False)
    def forward(
        self, prefixes: torch.Tensor, suffixes: torch.Tensor, case: torch.Tensor | None = None
    ) -> torch.Tensor:
        """
        # Parameters

        prefixes, suffixes : `torch.LongTensor`, (batch, tokens, max_length)
        case : `torch.LongTensor`, (batch, tokens)
            Needed with `case_dim`.

        # Returns

        `torch.Tensor`, (batch, tokens, output_dim)
        """
        if prefixes.size(-1) != self.prefix_offsets.numel():
            raise ConfigurationError(
                f"max_length: expected that of the affixes indexer, {prefixes.size(-1)}, "
                f"got {self.prefix_offsets.numel()}"
            )
        if (case is None) is (self.case_embedding is not None):
            raise ConfigurationError(
                'case_dim: the affixes embedder has one above 0 exactly if the indexer has "case": true'
            )
        features = [
            _summed(prefixes + self.prefix_offsets, self.prefix_weight),
            _summed(suffixes + self.suffix_offsets, self.suffix_weight),
        ]
        if self.case_embedding is not None:
            features.append(self.case_embedding(case))
        return torch.cat(features, dim=-1)

    def extend_vocab(self, extended_vocab: Vocabulary, **_: str | None) -> None:
        """Adds rows for the new affixes of an extended vocabulary. AllenNLP calls this to fine-tune a trained model."""
        for side, names in (("prefix", self._prefixes), ("suffix", self._suffixes)):
            old, begins = getattr(self, f"{side}_weight"), getattr(self, f"{side}_offsets")
            tables = old.detach().tensor_split(begins[1:].tolist())
            sizes = [extended_vocab.get_vocab_size(name) for name in names]
            if sizes == list(map(len, tables)):
                continue
            new = _tables(extended_vocab, names, old.size(-1)).detach().to(old)
            for rows, table in zip(new.split(sizes), tables):
                if len(rows) < len(table):
                    raise ConfigurationError(
                        "vocabulary: expected one with all affixes of the model's, got fewer"
                    )
                rows[: len(table)] = table
            setattr(self, f"{side}_weight", torch.nn.Parameter(new, old.requires_grad))
            setattr(self, f"{side}_offsets", _offsets(extended_vocab, names).to(begins))


def _tables(vocab: Vocabulary, namespaces: list[str], dim: int) -> torch.nn.Parameter:
    """The tables of all lengths, concatenated."""
    tables = [torch.empty(vocab.get_vocab_size(name), dim) for name in namespaces]
    return torch.nn.Parameter(torch.cat([torch.nn.init.xavier_uniform_(t) for t in tables]))


def _offsets(vocab: Vocabulary, namespaces: list[str]) -> torch.Tensor:
    """The first row of each table."""
    sizes = [vocab.get_vocab_size(name) for name in namespaces]
    return torch.tensor([0, *sizes[:-1]]).cumsum(0)


def _summed(indices: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The sum of rows of `weight` over the last dimension of the indices."""
    bags = indices.reshape(-1, indices.size(-1))
    rows = functional.embedding_bag(bags, weight, mode="sum")
    return rows.view(*indices.shape[:-1], weight.size(-1))


@TokenEmbedder.register("word_pieces")
class WordPiecesEmbedder(PretrainedTransformer, TokenEmbedder):
    """Represents each word by a pretrained transformer that reads the sentence: its last layer is pooled to words.

    Takes what the indexer `word_pieces` gives. Registered as a `TokenEmbedder` with name "word_pieces".

    # Parameters

    model_name, max_length, sub_token_mode, last_layer_only, last_layers, train_parameters, frozen_layers,
    load_weights, precision, lora, save_weights, state_cache, gradient_checkpointing
        See `PretrainedTransformer`.
    """

    reads_pairs = False

    @overrides
    def get_output_dim(self) -> int:
        return self.word_dim

    @overrides(check_signature=False)
    def forward(self, counts: torch.Tensor, pieces: torch.Tensor) -> torch.Tensor:
        """
        # Parameters

        counts : `torch.Tensor`, (batch, tokens)
            The number of pieces of each word, 0 in padding.
        pieces : `torch.Tensor`, (batch, pieces)
            Those of all words of a sentence, one after the other.

        # Returns

        `torch.Tensor`, (batch, tokens, dim)
        """
        nothing: Pieces = []
        sentences = words_of({"counts": counts, "pieces": pieces})
        vectors, (_, places) = self._read([nothing, words] for words in sentences)
        return padded(self._pooled(vectors, places), counts > 0)
