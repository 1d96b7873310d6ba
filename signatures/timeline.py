"""Timelines: what happened when, out of many documents."""

from __future__ import annotations

import datetime
from typing import Literal

import dspy
from pydantic import BaseModel, Field

from dspy_rlm.signatures.quotes import Quote


class TimelineEvent(BaseModel):
    """Something that happened at a time."""

    date: datetime.date = Field(description="the day; the first day of the period if only a month or a year is known")
    precision: Literal["day", "month", "year"] = Field(description="how exactly it is known")
    event: str = Field(description="what happened, in one sentence in the past tense")
    evidence: Quote = Field(description="the passage that tells it")


class BuildTimeline(dspy.Signature):
    """Put what the documents tell about the subject in order of time.

    Find dates with regular expressions in every form the documents use (2024-05-01, 1 May 2024, May 2024, 5/1/24), and print
    some of them with their sentences, to learn whether the day or the month comes first. Relative dates ("the next
    day", "last March") need the date of their document or of the passage before: resolve them with code, or by asking
    llm_query about that passage together with the date it refers to. Where events stand in prose, let llm_query_batched
    list the events of each piece as JSON with date and sentence. Keep only what concerns the subject. Reports of one event in
    several documents become one event, with the earliest and clearest report as evidence. Sort by date with code.
    """

    documents: dict[str, str] = dspy.InputField(desc="the texts by name")
    subject: str = dspy.InputField(desc="what the timeline is about")
    events: list[TimelineEvent] = dspy.OutputField(desc="the events, earliest first")
