"""A tuned program's file, loaded into the RLM of a command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dspy
import typer


def load_program(rlm: dspy.Module, path: Path) -> None:
    """Give `rlm` the instructions and demos that `RLM.save` wrote.

    LMs that were saved with them are left out: on the command line, `--model` says which one answers.

    Raises:
        typer.BadParameter: the file is no saved program, or one for other inputs and outputs.
    """
    try:
        rlm.load_state(_without_lms(json.loads(path.read_bytes())))
    except Exception as error:  # a file of any content may be named
        reason = f"{type(error).__name__}: {error}"
        raise typer.BadParameter(
            f"{str(path)!r} cannot be loaded as a program for this task ({reason}): it must be a JSON file saved by "
            "RLM.save, of a program with the same signature",
            param_hint="--program",
        ) from error


def _without_lms(state: Any) -> Any:
    if not isinstance(state, dict):
        return state
    kept = {name: _without_lms(value) for name, value in state.items()}
    return {**kept, "lm": None} if "signature" in kept else kept
