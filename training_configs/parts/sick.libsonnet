// Pairs of sentences, SICK or SNLI: entailment in 3 classes; of SICK also the relatedness from 1 to 5.
// The output is that of Tai, Socher & Manning (ACL 2015), Section 4.2.
// A config is `(import 'parts/sick.libsonnet') { ... }` with the few knobs (`::`) in which it differs.
(import 'knobs.libsonnet')((import 'classes.libsonnet') {
  local knobs = self,

  relatedness:: false,  // true: the relatedness, not the classes
  lowercase:: true,
  names:: null,  // of the fields of both sentences; null: first and second
  parses:: null,  // a folder with the dependency trees of the sentences; see docs/sentences.md
  hidden_dim:: 50,  // of what is computed from both sentences
  dropout:: 0.2,
  optimizer:: { type: 'adagrad', lr: 0.05 },  // that of Tai et al.
  reader:: {
    type: 'sentence_pairs',
    gold: if knobs.relatedness then 'score' else 'label',
    [if knobs.parses != null then 'parses']: knobs.parses,
    [if knobs.names != null then 'names']: knobs.names,
  },
  model_type:: 'sentence_pair',
  sorting_keys:: ['first', 'second'],
  validation_metric:: if knobs.relatedness then '+pearson' else '+accuracy',

  model+: {
    output: { type: if knobs.relatedness then 'scores' else 'classes' },
    hidden_dim: knobs.hidden_dim,
  },
  train_data_path: 'fixtures/sentences/pairs_train.txt',
  validation_data_path: 'fixtures/sentences/pairs_dev.txt',
})
