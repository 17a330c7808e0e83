"""Find the setting that is fastest on this device: cost tables, Algorithm 1, grids, a verdict.

tuning = Tuning(pair, prompts, plans=[plan_algorithm1("ouroboros", pair)])
for progress in tuning:  # one record after every round of prompts; tuning.cancel() ends it
    ...
tuning.verdict
"""

from phrasekit.tune.axes import PAPER, Plan, plan_algorithm1, plan_grid
from phrasekit.tune.costs import CostTable, measure_costs
from phrasekit.tune.export import Setting, exports
from phrasekit.tune.heat import HeatInfo, heat_info
from phrasekit.tune.prompts import bundled, encode_prompts
from phrasekit.tune.records import Progress, TrialRecord
from phrasekit.tune.report import TuneReport, report_of
from phrasekit.tune.tuning import Options, Tuning
from phrasekit.tune.verdict import Verdict

__all__ = [
    "PAPER",
    "CostTable",
    "HeatInfo",
    "Options",
    "Plan",
    "Progress",
    "Setting",
    "TrialRecord",
    "TuneReport",
    "Tuning",
    "Verdict",
    "bundled",
    "encode_prompts",
    "exports",
    "heat_info",
    "measure_costs",
    "plan_algorithm1",
    "plan_grid",
    "report_of",
]
