"""The signatures an RLM is made of.

Their instructions hold only what an optimizer may rewrite: the task and the strategy. What must always hold (variables,
callables, outputs and types, how to submit, turns left) is written into observations by the loop.
"""

from __future__ import annotations

from typing import Any

import dspy

STRATEGY = """\
You work in a Python sandbox, one cell a turn. The variables are set and hold the whole data; you see only a preview of them.
1. Compute the answer from the whole variable with code, and print it. If the format is not plain, print a sample first.
2. llm_query is only for pieces of text whose meaning has to be understood; it sees nothing but its prompt.
3. When an output answers the task, SUBMIT the variables that hold it. Never print it once more.
Variables stay from cell to cell. Never type their text into a cell, never repeat a cell; if one fails, write it differently.

For example, with a variable `orders` of lines like "2024-05-01 shoes 3", and the outputs `item: str` and `sold: int`:
```python
from collections import Counter
sold = Counter()
for line in orders.splitlines():
    day, item, count = line.split()
    sold[item] += int(count)
item, count = sold.most_common(1)[0]
print(item, count)
```
Once this has printed an answer that fits the task, the next cell is
```python
SUBMIT(item=item, sold=count)
```"""


class Act(dspy.Signature):
    """Solve the task in a Python sandbox."""

    variables: str = dspy.InputField(desc="the variables, functions and outputs of the task")
    trajectory: list[dict[str, Any]] = dspy.OutputField(desc="the steps: reasoning, code and output of each cell")


class Turn(dspy.Signature):
    """Write the next cell."""

    history: dspy.History = dspy.InputField()
    observation: str = dspy.InputField(desc="what there is, then what each cell gave")
    reasoning: str = dspy.OutputField(desc="one or two sentences: what is known, what to do next")
    code: str = dspy.OutputField(desc="the next Python cell")


class Query(dspy.Signature):
    """Answer the prompt from what it contains, briefly and exactly; say so if it does not contain the answer."""

    prompt: str = dspy.InputField()
    response: str = dspy.OutputField()


EXTRACT_STRATEGY = (
    "The steps taken so far are given as a trajectory; no further step can be taken. Give the outputs as its outputs "
    "support them, as well as can be told."
)


def extract_signature(task: type[dspy.Signature]) -> type[dspy.Signature]:
    """The signature of `extract` for a task: the task's outputs, from what was told and done.

    Args:
        task: The task's signature.
    """
    fields: dict[str, Any] = {
        "variables": (str, dspy.InputField(desc="the variables, functions and outputs of the task")),
        "trajectory": (str, dspy.InputField(desc="every step taken: reasoning, code and output")),
    }
    fields.update({name: (field.rebuild_annotation(), field) for name, field in task.output_fields.items()})
    made: type[dspy.Signature] = dspy.Signature(fields, f"{task.instructions}\n\n{EXTRACT_STRATEGY}".strip())
    return made
