"""Review of translations by people: the report, their decisions, and the statistics of files."""
