"""Summaries of more text than can be read at once, each point with its quote."""

from __future__ import annotations

import dspy
from pydantic import BaseModel, Field

from dspy_rlm.signatures.quotes import Quote


class KeyPoint(BaseModel):
    """A point that the documents make."""

    point: str = Field(description="the point, in one sentence")
    evidence: Quote = Field(description="a passage that makes it")


class SummarizeWithQuotes(dspy.Signature):
    """Sum up what all the documents together say, with regard to the focus.

    Look at names, lengths and headings first, and let them decide how to cut: at chapters or sections, into pieces of at
    most 20,000 characters. Let llm_query_batched sum up each piece with regard to the focus, and give the sentence
    that shows its main point best. If the summaries together are still long, sum them up in groups, and so on. Weigh by
    importance, not by length: what recurs in many documents, what is decided, what contradicts. Say where documents
    disagree. Take each quote out of its document by slicing, after finding it with code.
    """

    documents: dict[str, str] = dspy.InputField(desc="the texts by name")
    focus: str = dspy.InputField(desc="what the reader wants to know, and how long the summary may be")
    summary: str = dspy.OutputField(desc="the summary")
    key_points: list[KeyPoint] = dspy.OutputField(desc="the points it rests on, most important first")
