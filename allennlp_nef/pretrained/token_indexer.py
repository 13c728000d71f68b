"""The token indexer `word_pieces`, which splits words into the pieces of a pretrained transformer."""

from collections.abc import Mapping
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import IndexedTokenList, Token, TokenIndexer, Vocabulary
from overrides import overrides

from allennlp_nef.pretrained import multilingual_e5

if TYPE_CHECKING:  # importing transformers takes a second
    from transformers import PreTrainedTokenizerBase

TRANSFORMER_FOLDER = "transformer"  # of an archive; written by the callback `save_transformer`


@TokenIndexer.register("word_pieces")
class WordPiecesIndexer(TokenIndexer):
    """Splits words into the pieces of a pretrained transformer, for `transformer_pair` and the embedder `word_pieces`.

    Returns `counts`, (tokens,), the number of pieces of each word, and `pieces`, (pieces,), the ids of all pieces in
    one row without special pieces. A word for which the tokenizer returns no piece, such as a zero-width space, becomes
    the unknown piece. AllenNLP's vocabulary is not used.

    # Parameters

    model_name : `str`
        A name on huggingface.co, a folder, or `multilingual-e5-small`, which the extra `multilingual` installs; the
        same as in the model. An archive with a `transformer` folder uses the
        tokenizer in that folder.
    """

    def __init__(self, model_name: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.tokenizer = load_tokenizer(model_name)

    @classmethod
    @overrides(check_signature=False)
    def from_params(cls, params: Params, **extras: Any) -> "WordPiecesIndexer":
        folder = archived_transformer(extras)
        if folder is not None:
            params["model_name"] = str(folder)
        return super().from_params(params, **extras)

    @overrides
    def count_vocab_items(self, token: Token, counter: dict[str, dict[str, int]]) -> None:
        pass

    @overrides
    def tokens_to_indices(self, tokens: list[Token], vocabulary: Vocabulary) -> IndexedTokenList:
        if not tokens:
            return self.get_empty_token_list()
        words = [token.ensure_text() for token in tokens]
        encoded = self.tokenizer(words, add_special_tokens=False, verbose=False)["input_ids"]
        pieces = [ids or [self.tokenizer.unk_token_id] for ids in encoded]
        # `get_text_field_mask` looks at the first entry.
        return {"counts": list(map(len, pieces)), "pieces": list(chain.from_iterable(pieces))}

    @overrides
    def get_empty_token_list(self) -> IndexedTokenList:
        return {"counts": [], "pieces": []}


@lru_cache(maxsize=1)
def load_tokenizer(model_name: str) -> "PreTrainedTokenizerBase":
    """The fast tokenizer of a pretrained transformer. Callers share the one that was loaded last.

    # Raises

    `ConfigurationError`: the tokenizer cannot be loaded, or is slow.
    """
    if model_name == multilingual_e5.NAME:
        return multilingual_e5.load_tokenizer()
    from transformers import AutoTokenizer

    # Byte-level tokenizers (RoBERTa) distinguish words that follow a blank; others ignore the option.
    tokenizer = load_pretrained(AutoTokenizer, model_name, add_prefix_space=True)
    if not tokenizer.is_fast:
        raise ConfigurationError(f"model_name: {model_name} has no fast tokenizer (tokenizer.json)")
    return tokenizer


def load_pretrained(auto_class: Any, model_name: str, **options: Any) -> Any:
    """Calls `from_pretrained` of an auto class of transformers; raises a `ConfigurationError` if nothing is found."""
    try:
        return auto_class.from_pretrained(model_name, trust_remote_code=False, **options)
    except (OSError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise ConfigurationError(f"model_name: cannot load {model_name!r}: {reason}") from error


def archived_transformer(extras: Mapping[str, Any]) -> Path | None:
    """The `transformer` folder of the archive that is being loaded, from the extras of `from_params`.

    None for archives without such a folder, and in training: `allennlp train` passes `local_rank`, too. There, the
    folder may be left over from a run that is being recovered.
    """
    if "serialization_dir" not in extras or "local_rank" in extras:
        return None
    folder = Path(extras["serialization_dir"], TRANSFORMER_FOLDER)
    return folder if folder.is_dir() else None
