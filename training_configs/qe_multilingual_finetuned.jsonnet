// qe_multilingual, which begins with the weights of the model `qe-multilingual`: for a few hundred sentences of your own.
// Compare with Table 3, BiLSTM: F1-MULT 39.71.
(import 'qe_multilingual.jsonnet') + {
  model+: {
    initializer: {
      regexes: [
        [
          '(down|up)\\.weight|tag_head|sentence_score',
          // `allennlp-nef models --json` prints the path in an installed package.
          { type: 'pretrained', weights_file_path: 'allennlp_nef/trained_models/qe-multilingual.tar.gz' },
        ],
      ],
    },
  },
  trainer+: { optimizer+: { lr: 3e-4 }, num_epochs: 5 },
}
