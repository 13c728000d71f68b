"""A small BERT with a vocabulary of single characters, in a folder: nothing is downloaded."""

import string

import torch
from transformers import BertConfig, BertModel

DIM = 12


def save_bert(folder):
    """Writes the model and its tokenizer."""
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    for character in string.ascii_letters + string.digits + string.punctuation:
        pieces += [character, f"##{character}"]
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": false}', encoding="utf-8")
    config = BertConfig(
        vocab_size=len(pieces),
        hidden_size=DIM,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=64,
    )
    torch.manual_seed(0)
    BertModel(config).save_pretrained(str(folder))
