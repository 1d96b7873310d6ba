"""Log triage: what went wrong, in order of importance."""

from __future__ import annotations

from typing import Literal

import dspy
from pydantic import BaseModel, Field


class Incident(BaseModel):
    """Log lines with one cause."""

    severity: Literal["critical", "high", "medium", "low"] = Field(description="by what users or data suffer")
    title: str = Field(description="what happened, in one line")
    component: str = Field(description="the service, host or module at fault, as the log names it")
    occurrences: int = Field(ge=1, description="how many lines belong to it")
    first_line: int = Field(ge=1, description="number of the first of these lines, counted from 1")
    last_line: int = Field(ge=1, description="number of the last of these lines")
    evidence: str = Field(min_length=1, description="the line that shows it best, copied word for word")
    likely_cause: str = Field(description="the cause that the log supports; 'unknown' if it supports none")


class TriageLog(dspy.Signature):
    """Find the incidents in the log that somebody has to act on, most severe first.

    Print the first, a middle and the last few lines, and learn the format: where time, level and component stand. Split
    with splitlines and keep line numbers. Count lines per level, per component and per minute. Turn messages into
    templates, by replacing numbers, addresses and ids with a sign, and count the templates: what is frequent is mostly
    noise, what is rare or begins suddenly matters. Errors that follow one another within seconds mostly have one cause:
    look at what stands just before the first one. Ask llm_query about a handful of templates or excerpts, never about
    the whole log. Leave out warnings that occur evenly throughout and harm nobody.
    """

    log: str = dspy.InputField(desc="the log, one entry a line or with continued lines such as tracebacks")
    incidents: list[Incident] = dspy.OutputField(desc="the incidents, most severe first; empty if all is well")
    summary: str = dspy.OutputField(desc="what an engineer on call should know, in two to four sentences")
