"""A language model that runs in this process, without a key, a server or a network."""

from __future__ import annotations

from dspy_rlm.local.engine import AsyncLocalEngine, LocalEngine, local_lm

__all__ = ["AsyncLocalEngine", "LocalEngine", "local_lm"]
