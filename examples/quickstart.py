"""A typed answer over a file far larger than the LM's context."""

from __future__ import annotations

import dspy
from common import airports_csv, chosen_lm

from dspy_rlm import RLM


def main(lm: dspy.LM | None = None) -> dspy.Prediction:
    """Ask which country has the most airports, and show how the root LM found out."""
    rlm = RLM("airports, question -> country: str, count: int", max_iters=8, verbose=True)
    question = "Which country code has the most airports, and how many does it have?"
    with dspy.context(lm=lm or chosen_lm()):
        result = rlm(airports=airports_csv(), question=question)
    for step in result.trajectory:
        print(f"--- {step.reasoning}\n{step.code}\n>>> {step.output}")
    print(f"{result.country}: {result.count} airports ({result.finish_reason})")
    return result


if __name__ == "__main__":
    main()
