"""The trainer, its callbacks, learning rate schedules and initializers."""
