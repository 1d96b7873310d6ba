"""Sub-modules as functions in the sandbox: called by the cell, run on the host, counted, recorded."""

from __future__ import annotations

import contextvars
import inspect
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from typing import Any

import dspy

from dspy_rlm.awaiting import result_of
from dspy_rlm.budget import Budget
from dspy_rlm.events import SubCallEnded, SubCallStarted, emit
from dspy_rlm.interrupts import wait_for
from dspy_rlm.names import batched_name
from dspy_rlm.sandbox.values import Record, SubCallFailure
from dspy_rlm.shapes import Shapes
from dspy_rlm.trajectory import SubCall

_DEFAULT_THREADS = 8


class SubCalls:
    """Where a run's sub-calls are recorded until its step takes them; any thread may record."""

    def __init__(self) -> None:
        self._calls: list[SubCall] = []
        self._lock = threading.Lock()

    def add(self, calls: Sequence[SubCall]) -> None:
        """Record calls, in order."""
        with self._lock:
            self._calls.extend(calls)

    def take(self) -> tuple[SubCall, ...]:
        """The calls recorded since the last time."""
        with self._lock:
            calls, self._calls = tuple(self._calls), []
        return calls


class SubInterface:
    """How a module is called from a cell, read from its signature.

    Args:
        name: Its name in the sandbox.
        module: Any `dspy.Module`. Its inputs and outputs are those of its own signature, else of its one predictor if
            its `forward` takes the same names, else its `forward`'s parameters.

    Example:
        >>> SubInterface("classify", dspy.Predict("ticket -> label: bool")).text(Shapes())
        'classify(ticket: str) -> bool'
    """

    def __init__(self, name: str, module: dspy.Module) -> None:
        self.name = name
        signature = _signature_of(module)
        self._inputs = {} if signature is None else dict(signature.input_fields)
        self._outputs = {} if signature is None else _answers(module, signature)
        self._parameters = _parameters(module, self._inputs if signature is not None else None)
        self.single_input = next(iter(self._inputs)) if len(self._inputs) == 1 else None
        self.note = _first_line(signature)

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The module's inputs by name.

        Raises:
            TypeError: arguments are missing, unknown, or too many.
        """
        try:
            bound = self._parameters.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.text(Shapes())}: {error}") from None
        arguments = dict(bound.arguments)
        for name, parameter in self._parameters.parameters.items():
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                arguments.update(arguments.pop(name, {}))
        return arguments

    def bind_item(self, item: Any) -> dict[str, Any]:
        """The inputs that one item of a batch stands for: a dict of all of them, a tuple in order, or the single one."""
        if isinstance(item, Mapping) and self._are_arguments(item):
            return self.bind((), item)
        if isinstance(item, tuple) and self.single_input is None:
            return self.bind(item, {})
        return self.bind((item,), {})

    def _are_arguments(self, item: Mapping[Any, Any]) -> bool:
        parameters = self._parameters.parameters
        required = {name for name, parameter in parameters.items() if parameter.default is parameter.empty}
        return bool(item) and required <= set(item) <= set(parameters)

    def result(self, prediction: Any) -> Any:
        """What the cell receives: the single output's value, or a record of several."""
        if not isinstance(prediction, dspy.Prediction):
            return prediction
        names = list(self._outputs) or list(prediction.keys())
        if len(names) == 1:
            return prediction[names[0]]
        return Record({name: prediction[name] for name in names})

    def text(self, shapes: Shapes) -> str:
        """The call as the root LM is told: name, parameters, what comes back."""
        return f"{self.name}({self._parameters_text(shapes)}) -> {self._result_text(shapes)}"

    def batched_text(self, shapes: Shapes) -> str:
        """The batched form's call, likewise."""
        if self.single_input is None:
            items = f"({', '.join(self._parameters.parameters)}) tuples or dicts"
        else:
            items = shapes.text(self._inputs[self.single_input].annotation)
        return f"{batched_name(self.name)}(list of {items}) -> list of {self._result_text(shapes)}"

    def _parameters_text(self, shapes: Shapes) -> str:
        if not self._inputs:
            return str(self._parameters).strip("()")
        return ", ".join(f"{name}: {shapes.text(field.annotation)}" for name, field in self._inputs.items())

    def _result_text(self, shapes: Shapes) -> str:
        texts = {name: shapes.text(field.annotation, field.metadata) for name, field in self._outputs.items()}
        if len(texts) == 1:
            return next(iter(texts.values()))
        return f"record({', '.join(f'.{name}: {text}' for name, text in texts.items())})" if texts else "any"


class SubFunction:
    """A sub-module in one run, called from cells.

    Args:
        interface: How it is called.
        module: What answers.
        lm: The LM it runs with; None leaves the one in force.
        budget: What the calls are counted on.
        calls: Where they are recorded.
    """

    def __init__(
        self, interface: SubInterface, module: dspy.Module, lm: dspy.BaseLM | None, budget: Budget, calls: SubCalls
    ) -> None:
        self._interface = interface
        self._module = module
        self._lm = lm
        self._budget = budget
        self._calls = calls

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Answer one call.

        Raises:
            TypeError: the arguments do not fit.
            BudgetExceededError: no call is left.
        """
        inputs = self._interface.bind(args, kwargs)
        self._budget.reserve_llm_calls(1)
        value, call, error = self._observed(1, lambda: [self._answer(inputs)])[0]
        self._calls.add([call])
        if error is not None:
            raise error
        return value

    def batched(self, *args: Any, **kwargs: Any) -> list[Any]:
        """Answer many calls concurrently, in order; a failed one is a `SubCallFailure` in its own place.

        Raises:
            TypeError: the arguments do not fit.
            BudgetExceededError: fewer calls are left than items; none is made.
        """
        inputs = [self._interface.bind_item(item) for item in self._items(args, kwargs)]
        if not inputs:
            return []
        self._budget.reserve_llm_calls(len(inputs))
        answers = self._observed(len(inputs), lambda: self._answer_all(inputs))
        self._calls.add([call for _, call, _ in answers])
        return [value if error is None else SubCallFailure(f"[failed] {call.error}") for value, call, error in answers]

    def _items(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
        if len(args) + len(kwargs) == 1:
            items = args[0] if args else next(iter(kwargs.values()))
            if isinstance(items, list | tuple):
                return list(items)
            raise TypeError(f"{self._interface.batched_text(Shapes())}: expected a list, got {type(items).__name__}")
        if args or not kwargs:
            raise TypeError(f"{self._interface.batched_text(Shapes())}: expected one list, got {len(args)} arguments")
        columns = {name: list(column) for name, column in kwargs.items()}
        if len({len(column) for column in columns.values()}) > 1:
            lengths = ", ".join(f"{name} has {len(column)}" for name, column in columns.items())
            raise TypeError(f"{batched_name(self._interface.name)}: the lists differ in length: {lengths}")
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def _observed(self, count: int, answer: Callable[[], list[_Answer]]) -> list[_Answer]:
        emit(SubCallStarted(self._interface.name, count))
        started = time.monotonic()
        answers = answer()
        emit(SubCallEnded(self._interface.name, count, time.monotonic() - started))
        return answers

    def _answer_all(self, inputs: list[dict[str, Any]]) -> list[_Answer]:
        workers = min(len(inputs), dspy.settings.num_threads or _DEFAULT_THREADS)
        traces: list[list[Any]] = [[] for _ in inputs]
        pool = ThreadPoolExecutor(workers)
        try:
            futures = [
                pool.submit(contextvars.copy_context().run, self._answer_traced, item, trace)
                for item, trace in zip(inputs, traces, strict=True)
            ]
            wait_for(futures, lambda: self._budget.closed)
            answers = [future.result() for future in futures]
        finally:  # after Ctrl-C, calls that were not made yet must not be paid for
            pool.shutdown(wait=False, cancel_futures=True)
        if dspy.settings.trace is not None:
            # Joined here and in order, so that a trace does not depend on which call was answered first.
            for trace in traces:
                dspy.settings.trace.extend(trace)
        return answers

    def _answer_traced(self, inputs: dict[str, Any], trace: list[Any]) -> _Answer:
        if self._budget.closed:
            raise CancelledError
        with dspy.context(trace=None if dspy.settings.trace is None else trace):
            return self._answer(inputs)

    def _answer(self, inputs: dict[str, Any]) -> _Answer:
        started = time.monotonic()
        value, error = None, None
        try:
            with dspy.context(lm=self._lm or dspy.settings.lm):
                value = self._interface.result(_called(self._module, inputs))
        except Exception as raised:  # whatever a user's module raises is the cell's to handle
            error = raised
        told = None if error is None else f"{type(error).__name__}: {error}"
        duration = time.monotonic() - started
        return (
            value,
            SubCall(name=self._interface.name, inputs=inputs, output=value, error=told, duration=duration),
            error,
        )


_Answer = tuple[Any, SubCall, Exception | None]


def _called(module: dspy.Module, inputs: dict[str, Any]) -> Any:
    if hasattr(type(module), "forward"):
        return module(**inputs)
    return result_of(module.acall(**inputs))


def _signature_of(module: dspy.Module) -> type[dspy.Signature] | None:
    signature = getattr(module, "signature", None)
    if signature is None:
        predictors = module.predictors()
        signature = predictors[0].signature if len(predictors) == 1 and _passes_on(module, predictors[0]) else None
    return signature if isinstance(signature, type) and issubclass(signature, dspy.Signature) else None


def _passes_on(module: dspy.Module, predictor: dspy.Predict) -> bool:
    """Whether what the module is called with is what its predictor is called with."""
    parameters = _forward_parameters(module)
    takes_any = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)
    names = [parameter.name for parameter in parameters if parameter.kind is not inspect.Parameter.VAR_KEYWORD]
    return set(names) == set(predictor.signature.input_fields) or (takes_any and not names)


def _forward_parameters(module: dspy.Module) -> list[inspect.Parameter]:
    # Through the class, because DSPy warns of every access to an instance's `forward`.
    forward = getattr(type(module), "forward", None) or type(module).aforward
    try:
        signature = inspect.signature(forward, eval_str=True)
    except Exception:  # annotations written as text may name what is not there, and be anything
        signature = inspect.signature(forward)
    return list(signature.parameters.values())[1:]


def _answers(module: dspy.Module, signature: type[dspy.Signature]) -> dict[str, Any]:
    """The outputs that are the answer: what ChainOfThought puts before them is its own business."""
    outputs = dict(signature.output_fields)
    if isinstance(module, dspy.ChainOfThought) and len(outputs) > 1:
        outputs.pop("reasoning", None)
    return outputs


def _parameters(module: dspy.Module, inputs: Mapping[str, Any] | None) -> inspect.Signature:
    if inputs is None:
        return inspect.Signature(_forward_parameters(module))
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature([inspect.Parameter(name, kind) for name in inputs])


def _first_line(signature: type[dspy.Signature] | None) -> str:
    """What the module is for, where its author said so: DSPy's own default text says nothing new."""
    if signature is None:
        return ""
    text = signature.instructions.strip().split("\n")[0]
    return "" if text.startswith("Given the fields ") else text
