"""`python -m allennlp_nef`: the `allennlp-nef` program."""

from allennlp_nef.cli.program import main

main()
