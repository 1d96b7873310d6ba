"""Functions of your program as tools: cells call them by name, they run outside of the sandbox."""

from __future__ import annotations

import dspy
from common import chosen_lm

from dspy_rlm import RLM

STOCK = {"lamp": 0, "chair": 14, "table": 3}


def in_stock(item: str) -> int:
    """How many pieces of an item the warehouse has.

    Args:
        item: The item's name, in lower case.
    """
    return STOCK[item]


def main(lm: dspy.LM | None = None) -> dspy.Prediction:
    """Find out which orders the warehouse cannot fill."""
    signature = dspy.Signature(
        "orders: list[dict[str, str | int]] -> short: list[str]",
        "List the items of which more are ordered than in_stock(item) tells.",
    )
    orders = [{"item": "lamp", "pieces": 1}, {"item": "chair", "pieces": 4}, {"item": "table", "pieces": 8}]
    with dspy.context(lm=lm or chosen_lm()):
        result = RLM(signature, tools=[in_stock], max_iters=8, verbose=True)(orders=orders)
    print("too few of:", ", ".join(result.short))
    return result


if __name__ == "__main__":
    main()
