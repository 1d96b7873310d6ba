"""The command line, `dspy-rlm`."""

from __future__ import annotations

from dspy_rlm.cli.app import main

__all__ = ["main"]
