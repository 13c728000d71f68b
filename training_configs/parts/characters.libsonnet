// Words and characters: each word is its embedding beside the last states of a BiLSTM over its characters.
function(character_dim, lstm_dim) {
  token_indexers: {
    tokens: { type: 'single_id' },
    characters: { type: 'characters', min_padding_length: 1 },
  },
  text_field_embedder(word_dim): {
    token_embedders: {
      tokens: { type: 'embedding', embedding_dim: word_dim },
      characters: {
        type: 'character_encoding',
        embedding: { embedding_dim: character_dim, vocab_namespace: 'token_characters' },
        encoder: { type: 'lstm', input_size: character_dim, hidden_size: lstm_dim, bidirectional: true },
      },
    },
  },
  output_dim: 2 * lstm_dim,
}
