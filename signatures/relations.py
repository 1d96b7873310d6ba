"""Relations: which pairs of things stand in a relation, by evidence from documents."""

from __future__ import annotations

import dspy
from pydantic import BaseModel, Field

from dspy_rlm.signatures.quotes import Quote


class RelatedPair(BaseModel):
    """Two entities that stand in the relation."""

    subject: str = Field(description="the entity the relation starts from, exactly as listed")
    object: str = Field(description="the entity it leads to, exactly as listed")
    evidence: Quote = Field(description="the passage that says so")


class FindRelatedPairs(dspy.Signature):
    """Find all pairs of the listed entities that stand in the relation, each with its evidence.

    The number of pairs grows with the square of the entities, so never ask about pair after pair. For each entity find
    with code where the documents mention it, by its full name, its last word and its abbreviations. Collect the passages
    where two entities occur close to each other, and let llm_query_batched judge these passages, some dozens a
    batch, with the relation spelled out and both names given. If the relation can hold without a common passage (same
    city, same year), extract that property once for each entity and join with code. Mind the direction; a relation
    that is symmetric gives one pair, in the order of the list. Copy the evidence out of the document by slicing.
    """

    entities: list[str] = dspy.InputField(desc="the names to relate")
    documents: dict[str, str] = dspy.InputField(desc="the texts by name")
    relation: str = dspy.InputField(desc="the relation, in words: what must hold of subject and object")
    pairs: list[RelatedPair] = dspy.OutputField(desc="every pair that the documents support; empty if none")
