"""Plans: the smallest epsilon, number of people or error that two of the three allow, and the survey to run."""

from deniable.planner.effects import EffectPlan
from deniable.planner.form_offers import offer_form
from deniable.planner.forms import FormPlan, PlannedQuestion, Spending
from deniable.planner.nearby import nearby
from deniable.planner.numbers import NumberPlan
from deniable.planner.planning import plan
from deniable.planner.result import Alternative, Expected, Plan, Strategy
from deniable.planner.text_plans import TextPlan

__all__ = [
    "Alternative",
    "EffectPlan",
    "Expected",
    "FormPlan",
    "NumberPlan",
    "Plan",
    "PlannedQuestion",
    "Spending",
    "Strategy",
    "TextPlan",
    "nearby",
    "offer_form",
    "plan",
]
