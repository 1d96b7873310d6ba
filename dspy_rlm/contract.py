"""The first observation: everything that holds whatever an optimizer makes of the instructions.

Variables, callables with their signatures, outputs with their types, and how to submit stand here and not in the
instructions, so that no rewrite of those can lose them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import dspy

from dspy_rlm.shapes import Shapes
from dspy_rlm.submission import Outputs
from dspy_rlm.subs import SubInterface
from dspy_rlm.tools import describe_tool
from dspy_rlm.variables import describe_variables, field_note


def first_observation(
    signature: type[dspy.Signature],
    inputs: Mapping[str, Any],
    outputs: Outputs,
    subs: Iterable[SubInterface],
    tools: Iterable[dspy.Tool],
    max_llm_calls: int,
) -> str:
    """What the root LM is told before its first cell.

    Args:
        signature: The task's signature.
        inputs: The inputs of this run.
        outputs: The task's outputs.
        subs: The sub-modules.
        tools: The tools.
        max_llm_calls: How many sub-module calls the run may make.
    """
    shapes = Shapes()
    parts = ["Variables in the sandbox:", *_bullets(describe_variables(signature, inputs, shapes))]
    parts += ["", *_functions(subs, tools, max_llm_calls, shapes)]
    fields = [
        f"{name}: {shapes.text(field.annotation, field.metadata)}{field_note(name, field)}"
        for name, field in outputs.fields.items()
    ]
    parts += ["", f"The outputs, to be handed in with {outputs.call_text()}:", *_bullets(fields)]
    if definitions := shapes.definitions():
        parts += ["", "Where", *_bullets(definitions)]
    return "\n".join(parts)


def _functions(
    subs: Iterable[SubInterface], tools: Iterable[dspy.Tool], max_llm_calls: int, shapes: Shapes
) -> list[str]:
    lines = ["Functions in the sandbox:"]
    for sub in subs:
        note = f": {sub.note}" if sub.note else ""
        lines += _bullets([f"{sub.text(shapes)}{note}", f"{sub.batched_text(shapes)}, concurrently, in order"])
    lines.append(f"  (at most {max_llm_calls} calls of these in all)")
    return lines + _bullets(describe_tool(tool) for tool in tools)


def _bullets(entries: Iterable[str]) -> list[str]:
    return [f"- {entry}" for entry in entries]
