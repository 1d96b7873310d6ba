"""Many questions at once: runs share nothing, so one module answers them concurrently."""

from __future__ import annotations

import asyncio

import dspy
from common import airports_csv, chosen_lm

from dspy_rlm import RLM

COUNTRIES = ["IS", "CH", "NZ"]


async def count_all(lm: dspy.LM) -> dict[str, int]:
    """How many airports each of the countries has."""
    rlm = RLM("airports, question -> count: int", max_iters=8, verbose=True)
    airports = airports_csv()
    with dspy.context(lm=lm):
        results = await asyncio.gather(
            *(rlm.acall(airports=airports, question=f"How many airports have the country code {c}?") for c in COUNTRIES)
        )
    return {country: result.count for country, result in zip(COUNTRIES, results, strict=True)}


def main(lm: dspy.LM | None = None) -> dict[str, int]:
    """Count the airports of three countries concurrently."""
    counts = asyncio.run(count_all(lm or chosen_lm()))
    print(counts)
    return counts


if __name__ == "__main__":
    main()
