from typing import Any

from allennlp.common import Params
from allennlp.data import IndexedTokenList, Token, TokenIndexer, Vocabulary
from overrides import overrides

from allennlp_nef.pretrained import load_tokenizer
from allennlp_nef.resources import TRANSFORMER_NAME, archived_path


@TokenIndexer.register("word_pieces")
class WordPiecesIndexer(TokenIndexer):
    """The pieces of each word, from the tokenizer of a pretrained transformer, for `transformer_pair`.

    There are no special pieces, such as [CLS]. A word for which the tokenizer has no piece gets the unknown piece, so
    that each word has at least one. AllenNLP's vocabulary plays no part.

    Gives `counts`, the number of pieces of each word, (tokens,), and `pieces`, those of all words one after the other,
    (pieces,). Registered as a `TokenIndexer` with name "word_pieces".

    # Parameters

    model_name : `str`, optional (default = `"xlm-roberta-base"`)
        A name on huggingface.co, or a folder. The same as in `transformer_pair`. The reader of an archive takes the
        tokenizer that the archive holds.

    # Raises

    `ConfigurationError`: the tokenizer cannot be found.
    """

    def __init__(self, model_name: str = "xlm-roberta-base", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._tokenizer = load_tokenizer(model_name)

    @classmethod
    @overrides(check_signature=False)
    def from_params(cls, params: Params, *args: Any, **extras: Any) -> "WordPiecesIndexer":
        folder = archived_path(TRANSFORMER_NAME, extras)
        if folder:
            params["model_name"] = folder
        return super().from_params(params, *args, **extras)

    @overrides
    def count_vocab_items(self, token: Token, counter: dict[str, dict[str, int]]) -> None:
        pass

    @overrides
    def tokens_to_indices(
        self, tokens: list[Token], vocabulary: Vocabulary
    ) -> dict[str, list[Any]]:
        if not tokens:
            return self.get_empty_token_list()
        words = [token.ensure_text() for token in tokens]
        encoded = self._tokenizer(words, add_special_tokens=False, verbose=False)["input_ids"]
        pieces = [found or [self._tokenizer.unk_token_id] for found in encoded]
        return {"counts": list(map(len, pieces)), "pieces": sum(pieces, [])}

    @overrides
    def get_empty_token_list(self) -> IndexedTokenList:
        return {"counts": [], "pieces": []}
