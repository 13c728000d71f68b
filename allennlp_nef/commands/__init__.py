"""The commands of this package. Importing this module needs neither torch nor AllenNLP."""

from allennlp_nef.commands.align_words import ALIGN_WORDS
from allennlp_nef.commands.calibrate import CALIBRATE
from allennlp_nef.commands.check_archive import CHECK_ARCHIVE
from allennlp_nef.commands.check_data import CHECK_DATA
from allennlp_nef.commands.ensemble import ENSEMBLE
from allennlp_nef.commands.examples import EXAMPLES
from allennlp_nef.commands.export import EXPORT
from allennlp_nef.commands.plot_labels import PLOT_LABELS
from allennlp_nef.commands.plot_sketches import PLOT_SKETCHES
from allennlp_nef.commands.plot_steps import PLOT_STEPS
from allennlp_nef.commands.score_tags import SCORE_TAGS
from allennlp_nef.commands.tag_corpus import TAG_CORPUS

COMMANDS = (
    ALIGN_WORDS,
    CALIBRATE,
    CHECK_ARCHIVE,
    CHECK_DATA,
    ENSEMBLE,
    EXAMPLES,
    EXPORT,
    PLOT_LABELS,
    PLOT_SKETCHES,
    PLOT_STEPS,
    SCORE_TAGS,
    TAG_CORPUS,
)
