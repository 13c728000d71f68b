// The entailment of two sentences by a pretrained encoder of English that reads both together.
(import 'sick_relatedness_transformer.jsonnet') { relatedness: false }
