"""Small transformers whose pieces are single characters, saved in folders. Nothing is downloaded."""

import string

import torch
from allennlp.data import Batch, Instance, Token, Vocabulary
from allennlp.data.fields import TextField

from allennlp_nef.pretrained.word_pieces import WordPiecesIndexer

DIM = 12
LAYERS = 2
LENGTH = 64  # pieces in a window, including special ones
CHARACTERS = string.ascii_letters + string.digits + string.punctuation


def _sizes(pieces):
    return {
        "vocab_size": len(pieces),
        "hidden_size": DIM,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": 2,
        "intermediate_size": 16,
    }


def save_bert(folder, seed=0):
    """Saves a BERT and its tokenizer."""
    from transformers import BertConfig, BertModel

    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    for character in CHARACTERS:
        pieces += [character, f"##{character}"]
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": false}', encoding="utf-8")
    config = BertConfig(max_position_embeddings=LENGTH, **_sizes(pieces))
    torch.manual_seed(seed)
    BertModel(config).save_pretrained(str(folder))


def save_xlm_roberta(folder, seed=0):
    """Saves an XLM-R and its tokenizer, a Unigram model as in sentencepiece."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import XLMRobertaConfig, XLMRobertaModel, XLMRobertaTokenizerFast

    pieces = ["<s>", "<pad>", "</s>", "<unk>", "▁", *CHARACTERS, "<mask>"]
    tokenizer = Tokenizer(models.Unigram([(piece, -1.0) for piece in pieces], unk_id=3))
    # A zero-width space has no piece.
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Replace("\u200b", "")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", 0), ("</s>", 2)],
    )
    XLMRobertaTokenizerFast(tokenizer_object=tokenizer).save_pretrained(str(folder))
    config = XLMRobertaConfig(
        max_position_embeddings=LENGTH + 2, type_vocab_size=1, pad_token_id=1, **_sizes(pieces)
    )
    torch.manual_seed(seed)
    XLMRobertaModel(config).save_pretrained(str(folder))


SAVE = {"bert": save_bert, "xlm_roberta": save_xlm_roberta}


def pieces_of(folder, *sentences, **options):
    """The output of the indexer `word_pieces` for a batch of sentences, which are words between blanks."""
    indexers = {"word_pieces": WordPiecesIndexer(str(folder), **options)}
    texts = [text.split(" ") if text else [] for text in sentences]
    batch = Batch([Instance({"text": TextField([*map(Token, text)], indexers)}) for text in texts])
    batch.index_instances(Vocabulary())
    return batch.as_tensor_dict()["text"]["word_pieces"]
