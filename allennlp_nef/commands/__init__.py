from allennlp_nef.commands.plot_labels import PlotLabels
from allennlp_nef.commands.plot_sketches import PlotSketches
from allennlp_nef.commands.score_tags import ScoreTags

__all__ = ["PlotLabels", "PlotSketches", "ScoreTags"]
