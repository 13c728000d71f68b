// NEF-F, N=5, for your own data: affixes, copied words and averaged weights; `allennlp-nef calibrate` then chooses the threshold.
// Not in Table 3, whose NEF-F, N=5, has F1-MULT 41.18 on WMT16 English-German.
local embedding_dim = 64;
local affix_dim = 32;  // of the four prefixes, and of the four suffixes
local word_dim = embedding_dim + 2 * affix_dim;
local similarity_features = 5;

local affix_namespaces = [
  '%s_affixes_%s_%d' % [side, affix, length]
  for side in ['source', 'target']
  for affix in ['prefix', 'suffix']
  for length in [1, 2, 3, 4]
];
local indexers(side) = {
  tokens: { type: 'single_id', namespace: side + '_tokens' },
  affixes: { type: 'affixes', namespace: side + '_affixes' },
};
local reader = {
  source_token_indexers: indexers('source'),
  target_token_indexers: indexers('target'),
  word_similarity: true,
};
local affixes(side) = {
  token_embedders+: {
    affixes: { type: 'affixes', embedding_dim: affix_dim, namespace: side + '_affixes' },
  },
};

(import 'qe_nef_f.jsonnet') + {
  dataset_reader+: reader,
  validation_dataset_reader+: reader,
  vocabulary+: { min_count+: { [namespace]: 2 for namespace in affix_namespaces } },
  model+: {
    pair_embedder+: {
      source_embedder+: affixes('source'),
      target_embedder+: affixes('target'),
      alignment_dropout: 0.3,  // the share of training sentences that lose their alignments at each step
      word_similarity: true,
    },
    encoder+: { input_size: 6 * word_dim + similarity_features },
    tag_head: { type: 'softmax' },
    metrics: [{ type: 'word_qe' }, { type: 'best_threshold_word_qe' }, { type: 'calibration' }],
    regularizer: { regexes: [['embedder', { type: 'l2', alpha: 0.003 }]] },
  },
  trainer+: {
    optimizer: { type: 'adagrad', lr: 0.1 },
    num_epochs: 12,
    patience: 4,
    validation_metric: '+best_mcc',
    moving_average: { type: 'exponential', decay: 0.998 },
  },
}
