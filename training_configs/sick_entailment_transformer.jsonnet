// The entailment of two sentences by a pretrained encoder of English that reads both together.
(import 'sick_relatedness_transformer.jsonnet') + {
  dataset_reader+: { gold: 'label' },
  validation_dataset_reader+: { gold: 'label' },
  model+: { output: { type: 'classes' } },
  trainer+: { validation_metric: '+accuracy' },
}
