"""DSPy modules as functions of the sandbox: cells call them, their answers are typed values, optimizers tune them."""

from __future__ import annotations

from typing import Literal

import dspy
from common import chosen_lm

from dspy_rlm import RLM

TICKETS = [
    "The app closes as soon as I open a photo.",
    "I was charged twice in May.",
    "Could you add a dark theme?",
    "Since the update, search finds nothing.",
]


class Classify(dspy.Signature):
    """Tell what a support ticket is about."""

    ticket: str = dspy.InputField()
    topic: Literal["bug", "billing", "wish"] = dspy.OutputField()


def main(lm: dspy.LM | None = None) -> dspy.Prediction:
    """Count tickets by topic; the topic of each is told by the sub-module `classify`."""
    signature = dspy.Signature(
        "tickets: list[str] -> counts: dict[str, int]", "Count the tickets of each topic, by classify_batched(tickets)."
    )
    rlm = RLM(signature, subs={"classify": dspy.Predict(Classify)}, max_iters=8, verbose=True)
    print("tunable predictors:", [name for name, _ in rlm.named_predictors()])
    with dspy.context(lm=lm or chosen_lm()):
        result = rlm(tickets=TICKETS)
    print(result.counts)
    return result


if __name__ == "__main__":
    main()
