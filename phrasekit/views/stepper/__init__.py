"""Step through a recorded run: what was drafted, what the target said, what became a phrase, and when."""

from phrasekit.views.stepper.info import stepper_info
from phrasekit.views.stepper.page import StepperView, stepper, stepper_html
from phrasekit.views.stepper.records import StepperInfo

__all__ = ["StepperInfo", "StepperView", "stepper", "stepper_html", "stepper_info"]
