"""Signatures: those an RLM is made of, and a library of ready task signatures."""

from __future__ import annotations

from dspy_rlm.signatures.rlm import Act, Query, Turn

__all__ = ["Act", "Query", "Turn"]
