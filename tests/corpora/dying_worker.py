"""When Ray's first worker has imported this module, it dies in its first batch."""

import os
import sys

from allennlp_nef.corpora.tagger import Tagger


def die_once(tagger, rows, answers=Tagger.answers):
    try:
        open(os.environ["DEAD_WORKER"], "x").close()
    except FileExistsError:
        return answers(tagger, rows)
    os._exit(1)


if "default_worker" in sys.argv[0]:
    Tagger.answers = die_once
