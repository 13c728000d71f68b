// Low-rank adapters on a frozen encoder of about 100 languages, for taggers of sentences.
{
  model+: {
    text_field_embedder+: {
      token_embedders+: {
        transformer+: {
          frozen_layers:: null,
          lora_rank: 16,
          save_weights: false,  // the archive has the adapters, and names the encoder
        },
      },
    },
  },
  trainer+: {
    optimizer+: { lr: 1e-3, parameter_groups:: null },
    learning_rate_scheduler+: { cut_frac: 0.06 },
    num_epochs: 1,
    callbacks: [],
  },
  include_in_archive: [],
}
