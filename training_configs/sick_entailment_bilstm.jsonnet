// Entailment in 3 classes by a BiLSTM, with the features of Section 4.2 of Tai, Socher & Manning (ACL 2015).
(import 'sick_relatedness_bilstm.jsonnet') + {
  dataset_reader+: { gold: 'label' },
  validation_dataset_reader+: { gold: 'label' },
  model+: { output: { type: 'classes' } },
  trainer+: { validation_metric: '+accuracy' },
}
