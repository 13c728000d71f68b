"""Other tasks of recurrent encoders, one file each with its dataset readers, models and predictors."""
