"""What the examples share: which LM answers, and the data."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import dspy

AIRPORTS = Path(__file__).parent / "data" / "airports.csv.gz"


def chosen_lm() -> dspy.LM:
    """The LM that DSPY_RLM_MODEL names (a LiteLLM name such as openai/gpt-5.4-mini, or a GGUF file), else the local one."""
    name = os.environ.get("DSPY_RLM_MODEL", "local")
    if name != "local" and not name.endswith(".gguf"):
        return dspy.LM(name)
    from dspy_rlm.local import local_lm

    return local_lm(None if name == "local" else name)


def airports_csv() -> str:
    """28,298 airports, 3 MB of CSV: far more than a prompt holds."""
    return gzip.decompress(AIRPORTS.read_bytes()).decode()
