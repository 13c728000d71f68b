"""The `word_pieces` token indexer, which splits words into the pieces of a pretrained transformer."""

from itertools import chain
from typing import Any

from allennlp.common import Params
from allennlp.data import IndexedTokenList, Token, TokenIndexer, Vocabulary

from allennlp_nef.pretrained.loading import archived_transformer, load_tokenizer


@TokenIndexer.register("word_pieces")
class WordPiecesIndexer(TokenIndexer):
    """Splits words into the pieces of a pretrained transformer, for `transformer_pair` and the `word_pieces` embedder.

    Returns `counts`, (tokens,), the number of pieces of each word, and `pieces`, (pieces,), the ids of all pieces in
    one row without special tokens. A word for which the tokenizer returns no piece, such as a zero-width space, becomes
    the unknown piece. AllenNLP's vocabulary is not used.

    # Parameters

    model_name : `str`
        A name on huggingface.co, a folder, or `multilingual-e5-small`, which the `multilingual` extra installs; must be
        the same as in the model. An archive with a `transformer` folder uses the tokenizer in that folder.
    """

    def __init__(self, model_name: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.tokenizer = load_tokenizer(model_name)

    @classmethod
    def from_params(cls, params: Params, **extras: Any) -> "WordPiecesIndexer":  # type: ignore[override]
        folder = archived_transformer(extras)
        if folder is not None:
            params["model_name"] = str(folder)
        return super().from_params(params, **extras)

    def count_vocab_items(self, token: Token, counter: dict[str, dict[str, int]]) -> None:
        pass

    def tokens_to_indices(self, tokens: list[Token], vocabulary: Vocabulary) -> IndexedTokenList:
        if not tokens:
            return self.get_empty_token_list()
        words = [token.ensure_text() for token in tokens]
        encoded = self.tokenizer(words, add_special_tokens=False, verbose=False)["input_ids"]
        pieces = [ids or [self.tokenizer.unk_token_id] for ids in encoded]
        # `get_text_field_mask` looks at the first entry.
        return {"counts": list(map(len, pieces)), "pieces": list(chain.from_iterable(pieces))}

    def get_empty_token_list(self) -> IndexedTokenList:
        return {"counts": [], "pieces": []}
