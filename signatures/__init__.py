"""Signatures: those an RLM is made of, and a library of ready task signatures.

Each task signature's docstring is the root instruction of an `RLM` over it: advice that an optimizer may rewrite.

Example:
    >>> from dspy_rlm import RLM
    >>> list(RLM(AnswerWithQuotes).signature.output_fields)
    ['answer', 'quotes']
"""

from __future__ import annotations

from dspy_rlm.signatures.aggregation import Aggregate, Figure
from dspy_rlm.signatures.classification import ClassifyAndCount
from dspy_rlm.signatures.code import AnswerAboutCode, CodeReference
from dspy_rlm.signatures.extraction import extraction_of
from dspy_rlm.signatures.logs import Incident, TriageLog
from dspy_rlm.signatures.long_documents import AnswerWithQuotes
from dspy_rlm.signatures.needle import FindPassages, Passage
from dspy_rlm.signatures.quotes import Quote, unsupported
from dspy_rlm.signatures.relations import FindRelatedPairs, RelatedPair
from dspy_rlm.signatures.rlm import Act, Query, Turn
from dspy_rlm.signatures.summaries import KeyPoint, SummarizeWithQuotes
from dspy_rlm.signatures.timeline import BuildTimeline, TimelineEvent

__all__ = [
    "Act",
    "Aggregate",
    "AnswerAboutCode",
    "AnswerWithQuotes",
    "BuildTimeline",
    "ClassifyAndCount",
    "CodeReference",
    "Figure",
    "FindPassages",
    "FindRelatedPairs",
    "Incident",
    "KeyPoint",
    "Passage",
    "Query",
    "Quote",
    "RelatedPair",
    "SummarizeWithQuotes",
    "TimelineEvent",
    "TriageLog",
    "Turn",
    "extraction_of",
    "unsupported",
]
