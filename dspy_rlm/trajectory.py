"""What a run did, step by step: what `Prediction.trajectory` holds, and what a demo of the root predictor is made of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, overload

from pydantic import (
    BaseModel,
    ConfigDict,
    RootModel,
    SerializerFunctionWrapHandler,
    field_serializer,
    model_serializer,
)
from pydantic_core import to_jsonable_python

from dspy_rlm.sandbox.values import Record, fields_of

FinishReason = Literal["submitted", "max_iters", "context_window"]


class SubCall(BaseModel):
    """One call of a sub-module by a cell.

    Attributes:
        name: The sub-module's name in the sandbox.
        inputs: The inputs by field name.
        output: What the cell received; None when the call failed.
        error: Why the call failed; None when it did not.
        duration: Seconds.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    inputs: dict[str, Any]
    output: Any = None
    error: str | None = None
    duration: float = 0.0

    @field_serializer("inputs", "output", when_used="json")
    def _as_json(self, value: Any) -> Any:
        return to_jsonable_python(value, fallback=_plain)


def _plain(value: Any) -> Any:
    # A sub-module may return anything; a trajectory that cannot be written down would lose the run for it.
    return fields_of(value) if isinstance(value, Record) else repr(value)


class Step(BaseModel):
    """One turn of the root LM: the cell it wrote and what became of it.

    The fields can also be read as `step["code"]`, as `dspy.RLM`'s trajectories are.

    Attributes:
        reasoning: Why the root LM wrote this cell, in its words.
        code: The cell.
        output: The observation that followed: what was printed, the error, the refusal, or the submission.
        error: One line that says why the cell did not do what it should; None when it did.
        duration: Seconds the cell ran, sub-calls included.
        sub_calls: The sub-module calls the cell made, in the order in which they were made.
    """

    model_config = ConfigDict(frozen=True)

    reasoning: str
    code: str
    output: str
    error: str | None = None
    duration: float = 0.0
    sub_calls: tuple[SubCall, ...] = ()

    def __getitem__(self, name: str) -> Any:
        if name not in type(self).model_fields:
            raise KeyError(name)
        return getattr(self, name)

    def get(self, name: str, default: Any = None) -> Any:
        """The field `name`, or `default` when there is no such field."""
        return self[name] if name in type(self).model_fields else default

    def keys(self) -> list[str]:
        """The names of the fields, so that `dict(step)` works."""
        return list(type(self).model_fields)

    @model_serializer(mode="wrap")
    def _without_defaults(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # Demos are saved as JSON; what says nothing must not make that file larger.
        dumped: dict[str, Any] = handler(self)
        return {name: value for name, value in dumped.items() if name in _REQUIRED or value not in (None, 0.0, (), [])}

    def __str__(self) -> str:
        return f"{self.reasoning}\n\n```python\n{self.code}\n```\n\n{self.output}"


_REQUIRED = frozenset({"reasoning", "code", "output"})


class Trajectory(RootModel[tuple[Step, ...]]):
    """The steps of a run in order: a sequence.

    Example:
        >>> trajectory = Trajectory((Step(reasoning="Look.", code="print(1)", output="1"),))
        >>> len(trajectory), trajectory[0].code, trajectory[-1]["output"]
        (1, 'print(1)', '1')
    """

    model_config = ConfigDict(frozen=True)

    root: tuple[Step, ...] = ()

    def __iter__(self) -> Iterator[Step]:  # type: ignore[override]  # a sequence iterates over its items, not its fields
        return iter(self.root)

    def __len__(self) -> int:
        return len(self.root)

    @overload
    def __getitem__(self, index: int) -> Step: ...
    @overload
    def __getitem__(self, index: slice) -> Trajectory: ...
    def __getitem__(self, index: int | slice) -> Step | Trajectory:
        return Trajectory(self.root[index]) if isinstance(index, slice) else self.root[index]

    def __add__(self, step: Step) -> Trajectory:
        """This trajectory and one more step."""
        return Trajectory((*self.root, step))

    def lean(self) -> Trajectory:
        """The same without durations and sub-calls: what the root LM wrote and saw, and nothing more of the inputs."""
        return Trajectory(
            tuple(Step(reasoning=s.reasoning, code=s.code, output=s.output, error=s.error) for s in self.root)
        )

    def __str__(self) -> str:
        return "\n\n".join(f"## Turn {number}\n\n{step}" for number, step in enumerate(self.root, 1))
