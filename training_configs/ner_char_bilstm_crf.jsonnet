// BiLSTM-CRF of Lample et al. (NAACL 2016), Tables 1 to 4: F1 90.94 / 78.76 / 81.74 / 85.75 in English / German / Dutch / Spanish
// with pretrained word vectors. One update a sentence. Words seen once are unknown; the paper replaces half of them at random.
local characters = (import 'parts/characters.libsonnet')(character_dim=25, lstm_dim=25);
local word_dim = 100;

(import 'ner_bilstm_crf_all_lengths.jsonnet') + {
  dataset_reader+: { tag_scheme: 'BIOUL', token_indexers: characters.token_indexers },
  validation_dataset_reader+: { tag_scheme: 'BIOUL', token_indexers: characters.token_indexers },
  vocabulary: { min_count: { tokens: 2 } },
  model+: {
    text_field_embedder: characters.text_field_embedder(word_dim),
    encoder+: { input_size: word_dim + characters.output_dim, hidden_size: 100 },
    tag_head+: { constraints: 'BIOUL' },
    input_dropout: 0.5,
    dropout: 0,
  },
  data_loader: { batch_sampler: { type: 'bucket', batch_size: 1, sorting_keys: ['tokens'] } },
  trainer+: { optimizer: { type: 'sgd', lr: 0.01 }, num_epochs: 100 },
}
