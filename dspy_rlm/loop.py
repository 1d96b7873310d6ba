"""The loop of a Recursive Language Model (Zhang, Kraska, Khattab, arXiv:2512.24601).

`solve` is a generator that yields what it wants done and is sent what came of it: ask the root LM for a cell, run a
cell, extract the outputs. It awaits nothing, calls no LM and holds no thread, so that the synchronous and the
asynchronous driver share every rule of it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass, field
from typing import Any

import dspy

from dspy_rlm.budget import Budget
from dspy_rlm.errors import NoAnswerError
from dspy_rlm.events import CellRan, CellWritten, Extracting, RunEnded, RunStarted, TurnStarted, emit
from dspy_rlm.observation import NO_CELL, Observation, observe, repeated, status_line, with_left_out
from dspy_rlm.predictors import Message, demo_messages, record_act, turn_message
from dspy_rlm.replies import Reply
from dspy_rlm.retyping import without_retyped
from dspy_rlm.sandbox.outcomes import Outcome, Submitted
from dspy_rlm.subs import SubCalls
from dspy_rlm.trajectory import FinishReason, Step, Trajectory

_SHORT_OUTPUT = 500  # characters of each observation that `extract` sees when the whole does not fit its context


@dataclass(frozen=True)
class AskRoot:
    """Wanted: the root LM's `Reply` to `observation`, after the chat of `turns`; another one than before if `stuck`."""

    turns: tuple[Message, ...]
    observation: str
    stuck: bool = False


@dataclass(frozen=True)
class RunCell:
    """Wanted: what becomes of a cell, as a pair of `Outcome` and seconds."""

    code: str


@dataclass(frozen=True)
class Extract:
    """Wanted: the outputs, as a dict, from the text of the trajectory."""

    trajectory: str


Request = AskRoot | RunCell | Extract


@dataclass(frozen=True)
class Answer:
    """The outputs of a run by name, and how it came to them."""

    outputs: dict[str, Any]
    trajectory: Trajectory
    finish_reason: FinishReason


@dataclass
class Run:
    """The state of one run; the module itself keeps none.

    Args:
        act: The root predictor.
        inputs: Names of the inputs.
        functions: Names of the host functions.
        variables: The first observation.
        submit: How to submit, for example `SUBMIT(ip=..., requests=...)`.
        budget: What may be spent.
        sub_calls: Where sub-calls are recorded.
    """

    act: dspy.Predict
    inputs: tuple[str, ...]
    functions: tuple[str, ...]
    variables: str
    submit: str
    budget: Budget
    sub_calls: SubCalls
    trajectory: Trajectory = field(default_factory=Trajectory)
    turns: list[Message] = field(default_factory=list)
    stuck: bool = False  # the root LM has just sent a cell that it had sent before, with the same result
    _seen: dict[str, tuple[str, int]] = field(default_factory=dict)

    def opening(self, turn: int) -> str:
        """The observation that turn number `turn` (from 1) begins with."""
        told = self.trajectory[-1].output if self.trajectory else self.variables
        calls_left = self.budget.llm_calls_left if self.budget.llm_calls else None
        failed = bool(self.trajectory) and self.trajectory[-1].error is not None
        return f"{told}\n\n{status_line(turn, self.budget.max_iters, self.submit, calls_left, failed=failed)}"

    def take(self, observation: str, step: Step) -> None:
        """Add a step, which followed `observation`."""
        self.trajectory += step
        self.turns.append(turn_message(observation, step))

    def compared(self, code: str, observation: Observation) -> Observation:
        """The observation of a cell, saying so where the same cell has given the same before."""
        # The text of an error tells the number of its cell, which is another each time.
        result = observation.error or observation.text
        before, times = self._seen.get(code.strip(), ("", 0))
        times = times + 1 if before == result else 0
        self._seen[code.strip()] = result, times
        self.stuck = times > 0
        return repeated(observation, self.variables if times > 1 else None) if times else observation


def solve(run: Run) -> Generator[Request, Any, Answer]:
    """Turn after turn until a submission is accepted, else the outputs as extracted from what was done.

    Raises:
        NoAnswerError: no outputs could be extracted.
        Exception: what the drivers raise for a failed LM call or sandbox, with the attribute `trajectory`.
    """
    emit(RunStarted(run.variables))
    try:
        outputs, reason = yield from _turns(run)
        record_act(run.act, run.variables, run.trajectory)
        if outputs is None:
            emit(Extracting())
            outputs = yield from _extract(run)
    except Exception as error:
        error.trajectory = run.trajectory  # type: ignore[attr-defined]  # what was done so far is worth keeping
        raise
    emit(RunEnded(reason))
    return Answer(outputs, run.trajectory, reason)


def _turns(run: Run) -> Generator[Request, Any, tuple[dict[str, Any] | None, FinishReason]]:
    run.turns = demo_messages(run.act.demos, run.budget.max_iters, run.submit)
    for turn in range(1, run.budget.max_iters + 1):
        emit(TurnStarted(turn, run.budget.max_iters))
        observation = run.opening(turn)
        try:
            reply: Reply = yield AskRoot(tuple(run.turns), observation, run.stuck)
        except dspy.ContextWindowExceededError:
            if not run.trajectory:
                raise  # nothing was done yet that outputs could be extracted from
            return None, "context_window"
        step, outcome = yield from _step(run, turn, reply)
        run.take(observation, step)
        emit(CellRan(turn, step))
        if isinstance(outcome, Submitted):
            return outcome.value, "submitted"
    return None, "max_iters"


def _step(run: Run, turn: int, reply: Reply) -> Generator[Request, Any, tuple[Step, Outcome | None]]:
    if reply.code is None:
        return Step(reasoning=reply.reasoning, code="", output=NO_CELL, error="no cell in the reply"), None
    emit(CellWritten(turn, reply.reasoning, reply.code))
    code, retyped = without_retyped(reply.code, run.inputs, run.functions)
    outcome, duration = yield RunCell(code)
    observation = run.compared(code, observe(outcome))
    if retyped:
        observation = with_left_out(observation, retyped)
    step = Step(
        reasoning=reply.reasoning,
        code=code,
        output=observation.text,
        error=observation.error,
        duration=duration,
        sub_calls=run.sub_calls.take(),
    )
    return step, outcome


def _extract(run: Run) -> Generator[Request, Any, dict[str, Any]]:
    try:
        try:
            outputs = yield Extract(str(run.trajectory))
        except dspy.ContextWindowExceededError:
            outputs = yield Extract(str(_shortened(run.trajectory)))
    except (dspy.AdapterParseError, dspy.ContextWindowExceededError) as error:
        raise NoAnswerError(
            f"no answer after {len(run.trajectory)} turns without an accepted SUBMIT, and none could be extracted from "
            f"them: {error}",
            run.trajectory,
        ) from error
    return dict(outputs)


def _shortened(trajectory: Trajectory) -> Trajectory:
    return Trajectory(
        tuple(
            step if len(step.output) <= _SHORT_OUTPUT else step.model_copy(update={"output": _cut(step.output)})
            for step in trajectory
        )
    )


def _cut(text: str) -> str:
    half = _SHORT_OUTPUT // 2
    return f"{text[:half]}\n… [{len(text) - 2 * half:,} characters cut] …\n{text[-half:]}"


def drive(core: Generator[Request, Any, Answer], perform: Callable[[Request], Any]) -> Answer:
    """Carry out what `core` asks for, one request after the other."""
    try:
        request = next(core)
        while True:
            try:
                result = perform(request)
            except Exception as error:
                request = core.throw(error)
            else:
                request = core.send(result)
    except StopIteration as stop:
        answer: Answer = stop.value
        return answer


async def adrive(core: Generator[Request, Any, Answer], perform: Callable[[Request], Awaitable[Any]]) -> Answer:
    """As `drive`, awaiting."""
    try:
        request = next(core)
        while True:
            try:
                result = await perform(request)
            except Exception as error:
                request = core.throw(error)
            else:
                request = core.send(result)
    except StopIteration as stop:
        answer: Answer = stop.value
        return answer
