"""Small transformers with vocabularies of single characters, in folders: nothing is downloaded."""

import string

import torch

DIM = 12
LAYERS = 2
LENGTH = 64
"""So many pieces are read at once, with the special ones."""
CHARACTERS = string.ascii_letters + string.digits + string.punctuation


def _sizes(pieces):
    return {
        "vocab_size": len(pieces),
        "hidden_size": DIM,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": 2,
        "intermediate_size": 16,
    }


def save_bert(folder):
    """Writes a BERT and its tokenizer."""
    from transformers import BertConfig, BertModel

    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    for character in CHARACTERS:
        pieces += [character, f"##{character}"]
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": false}', encoding="utf-8")
    config = BertConfig(max_position_embeddings=LENGTH, **_sizes(pieces))
    torch.manual_seed(0)
    BertModel(config).save_pretrained(str(folder))


def save_xlm_roberta(folder):
    """Writes an XLM-R and its tokenizer: a Unigram model, as sentencepiece has it."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import XLMRobertaConfig, XLMRobertaModel, XLMRobertaTokenizerFast

    pieces = ["<s>", "<pad>", "</s>", "<unk>", "▁", *CHARACTERS, "<mask>"]
    tokenizer = Tokenizer(models.Unigram([(piece, -1.0) for piece in pieces], unk_id=3))
    # The words of some characters have no piece.
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
    torch.manual_seed(0)
    XLMRobertaModel(config).save_pretrained(str(folder))


SAVE = {"bert": save_bert, "xlm_roberta": save_xlm_roberta}
