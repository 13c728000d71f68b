// qe_multilingual, which begins with the weights of the model `qe-multilingual`: for a few hundred sentences of your own.
// Compare with Table 3, BiLSTM: F1-MULT 39.71.
(import 'qe_multilingual.jsonnet') + {
  model+: {
    initializer: {
      regexes: [
        [
          '(down|up)$|tag_head|sentence_heads',
          { type: 'trained_model', archive: 'qe-multilingual' },  // or the path of an archive
        ],
      ],
    },
  },
  trainer+: { optimizer+: { lr: 3e-4 }, num_epochs: 5 },
}
