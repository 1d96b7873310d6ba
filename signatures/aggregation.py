"""Aggregation: figures over many records, by computing."""

from __future__ import annotations

from typing import Any

import dspy
from pydantic import BaseModel, Field


class Figure(BaseModel):
    """One figure of the result."""

    group: str = Field(description="what it is the figure of: the value grouped by, or 'all'")
    value: float = Field(description="the figure, unrounded")


class Aggregate(dspy.Signature):
    """Compute the figures that the question asks for, over all records.

    First print two records, the set of keys with how often each occurs, and the distinct values of the keys that matter.
    Look for what spoils sums before summing: numbers that are text, with separators, units or currency signs; empty
    and missing values; spellings of one name; duplicates; time zones. Then compute with plain Python over every record.
    Use llm_query_batched only where a group is a matter of meaning that no key tells, on distinct values rather than on
    records. Check that the groups' counts add up to the number of records, less those skipped.
    """

    records: list[dict[str, Any]] = dspy.InputField(desc="the records")
    question: str = dspy.InputField(desc="which figures, and by what to group")
    figures: list[Figure] = dspy.OutputField(desc="the figures, in the order asked for, else largest first")
    skipped: int = dspy.OutputField(desc="how many records had no usable value")
