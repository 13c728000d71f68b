// The entailment of two sentences, each read alone by a pretrained encoder of English. On SICK `sick_entailment_bilstm` is
// better: accuracy 77.2 and 68.3.
(import 'sick_relatedness_transformer.jsonnet') { relatedness: false }
