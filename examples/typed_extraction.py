"""Records of a text as pydantic models, validated while the root LM can still correct them."""

from __future__ import annotations

import datetime

import dspy
from common import chosen_lm
from pydantic import BaseModel, Field

from dspy_rlm import RLM
from dspy_rlm.signatures import extraction_of

LETTERS = """\
Order 1041, placed 2025-03-03: 1250.00 euro, to be paid within a month.
Order 1042, placed 2025-03-17: 80.50 euro, to be paid within a month.
Many thanks for your kind letter of last week. The garden is lovely at this time of the year.
"""


class Order(BaseModel):
    """An order that a letter mentions."""

    number: int = Field(ge=1000, description="the order's number")
    placed: datetime.date = Field(description="the day it was placed")
    amount: float = Field(gt=0, description="what is to be paid, in euro")


def main(lm: dspy.LM | None = None) -> dspy.Prediction:
    """Extract the orders of some letters."""
    with dspy.context(lm=lm or chosen_lm()):
        result = RLM(extraction_of(Order), max_iters=8, verbose=True)(text=LETTERS)
    for order in result.records:
        print(f"{order.number}: {order.amount:.2f} euro, placed on {order.placed:%d %B %Y}")
    return result


if __name__ == "__main__":
    main()
