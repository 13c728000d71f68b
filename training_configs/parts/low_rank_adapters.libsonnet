// Low-rank adapters on a frozen encoder of about 100 languages. Add `$.adapters` to the encoder.
{
  adapters:: {
    frozen_layers:: null,
    lora_rank: 16,
    save_weights: false,  // the archive has the adapters, and names the encoder
  },
  trainer+: {
    optimizer+: { lr: 1e-3, parameter_groups:: null },
    learning_rate_scheduler+: { cut_frac: 0.06 },
    num_epochs: 1,
    callbacks: [],
  },
  include_in_archive: [],
}
