"""`RLM`, the module: configuration, predictors, and the two drivers of the loop."""

from __future__ import annotations

import asyncio
import functools
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import cloudpickle
import dspy
from dspy.signatures.signature import ensure_signature
from dspy.utils.usage_tracker import UsageTracker, track_usage

from dspy_rlm.arguments import check_at_least, check_lm, checked_factory, checked_inputs, checked_subs
from dspy_rlm.budget import Budget
from dspy_rlm.contract import first_observation
from dspy_rlm.copying import copied_attribute
from dspy_rlm.events import Event, listening
from dspy_rlm.loop import Answer, AskRoot, Extract, Request, Run, RunCell, adrive, drive, solve
from dspy_rlm.names import batched_name, check_names
from dspy_rlm.narration import narrate
from dspy_rlm.predictors import OwnDemosPredict, TextPredict, turn_adapter, turn_predictor, without_foreign_demos
from dspy_rlm.replies import Reply, read_reply, read_unparsed
from dspy_rlm.sandbox.interpreter import RestrictedInterpreter
from dspy_rlm.saved_state import check_state, task_names
from dspy_rlm.session_thread import SessionThread
from dspy_rlm.sessions import InterpreterFactory, Session, SessionPlan, open_session, output_fields_info
from dspy_rlm.signatures.rlm import STRATEGY, Act, Query, extract_signature
from dspy_rlm.submission import Outputs
from dspy_rlm.subs import SubCalls, SubFunction, SubInterface
from dspy_rlm.tools import normalize_tools, tool_function

logger = logging.getLogger("dspy.rlm")  # below DSPy's own logger, so that its configuration shows and hides it

_UNSTUCK_TEMPERATURE = 1.0  # the one that every provider takes, also for models that reason


class RLM(dspy.Module):
    """A Recursive Language Model: the root LM explores inputs of any size by writing Python cells.

    Inputs become variables in a sandbox; the root LM sees a short description of each, writes cells, asks sub-modules
    about pieces, and submits values that are validated against the signature. Follows Zhang, Kraska and Khattab,
    "Recursive Language Models" (arXiv:2512.24601); takes the arguments of `dspy.RLM`, by position too.

    Args:
        signature: The task, as a string or a `dspy.Signature` class. A `pathlib.Path` given for a `str` input is that
            file's text, which goes to the sandbox without being read here.
        max_iters: Turns of the root LM at most. Default: 20.
        max_llm_calls: Sub-module calls at most, each item of a batch counted. Default: 50.
        max_output_chars: Characters of one cell's output that the root LM sees, head and tail. Default: 10,000.
        verbose: Log every turn through DSPy's logger. Default: False.
        tools: Host functions (or `dspy.Tool`s, sync or async) that cells may call by name. They are not tuned.
        sub_lm: The LM that sub-modules run with. Default: the LM in force.
        interpreter_factory: Makes a DSPy `CodeInterpreter` for each run. Default: `dspy.settings.interpreter_factory`,
            else `RestrictedInterpreter`.
        subs: Sub-modules by name; each is a function of that name in the sandbox, with a batched form, and an attribute
            of this module, so that optimizers tune it. `llm_query` (prompt -> response) is there unless given here.

    Raises:
        UsageError: a name clashes or an argument cannot work; the message says what to change.

    Example:
        >>> from dspy_rlm.testing import ScriptedLM
        >>> rlm = RLM("log, question -> ip: str, requests: int")
        >>> cell = "from collections import Counter\\nSUBMIT(*Counter(log.split()).most_common(1)[0])"
        >>> with dspy.context(lm=ScriptedLM([f"```python\\n{cell}\\n```"])):
        ...     result = rlm(log="10.0.0.1 10.0.0.2 10.0.0.1", question="Which IP is most frequent?")
        >>> result.ip, result.requests, result.finish_reason, len(result.trajectory)
        ('10.0.0.1', 2, 'submitted', 1)
    """

    def __init__(
        self,
        signature: str | type[dspy.Signature],
        max_iters: int = 20,
        max_llm_calls: int = 50,
        max_output_chars: int = 10_000,
        verbose: bool = False,
        tools: Sequence[Callable[..., Any] | dspy.Tool] | None = None,
        sub_lm: dspy.BaseLM | None = None,
        interpreter_factory: InterpreterFactory | None = None,
        *,
        subs: Mapping[str, dspy.Module] | None = None,
    ) -> None:
        super().__init__()
        check_at_least("max_iters", max_iters, 1)
        check_at_least("max_llm_calls", max_llm_calls, 0)
        check_at_least("max_output_chars", max_output_chars, 1)
        check_lm("sub_lm", sub_lm)
        self.signature = ensure_signature(signature)
        self.max_iters = max_iters
        self.max_llm_calls = max_llm_calls
        self.max_output_chars = max_output_chars
        self.verbose = verbose
        self.sub_lm = sub_lm
        self._interpreter_factory = checked_factory(interpreter_factory)
        self._tools = normalize_tools(tools)
        subs = {"llm_query": TextPredict(Query), **checked_subs(subs)}
        self._sub_names = tuple(subs)
        self.act = OwnDemosPredict(Act.with_instructions(f"{self.signature.instructions}\n\n{STRATEGY}".strip()))
        self.extract = OwnDemosPredict(extract_signature(self.signature))
        check_names(self.signature, self._tools, self._sub_names, frozenset({*dir(type(self)), *vars(self)}))
        Outputs(self.signature)  # refuses output types that cannot be validated, before any LM call is paid for
        for name, module in subs.items():
            setattr(self, name, module)

    @property
    def tools(self) -> dict[str, dspy.Tool]:
        """The tools by name, without the sub-modules."""
        return dict(self._tools)

    @property
    def subs(self) -> dict[str, dspy.Module]:
        """The sub-modules by name, as they are now."""
        return {name: getattr(self, name) for name in self._sub_names}

    def forward(self, *, interpreter_factory: InterpreterFactory | None = None, **inputs: Any) -> dspy.Prediction:
        """Answer the task for these inputs.

        Args:
            interpreter_factory: For this run only, in place of the constructor's.
            **inputs: The signature's inputs by name.

        Returns:
            The typed outputs by name, `trajectory` (a `Trajectory`), `final_reasoning` (the last step's),
            `finish_reason` ("submitted", "max_iters" or "context_window") and `usage` (tokens by LM).

        Raises:
            UsageError: inputs are missing or not in the signature; before any LM call.
            NoAnswerError: turns ran out and no outputs could be extracted.
            SandboxError: the sandbox itself failed.
        """
        inputs = checked_inputs(self.signature, inputs)
        with track_usage() as tracker, self._logging():
            run, plan = self._prepare(inputs, None)
            session = open_session(self._factory(interpreter_factory), plan)
            try:
                ask, adapter = turn_predictor(self.act), turn_adapter()

                def perform(request: Request) -> Any:
                    match request:
                        case AskRoot():
                            with dspy.context(trace=None, adapter=adapter):
                                try:
                                    return _reply(ask(**_chat(request)))
                                except dspy.AdapterParseError as error:
                                    return read_unparsed(error)
                        case RunCell():
                            return _timed(session, request.code)
                        case Extract():
                            return self._outputs(self.extract(variables=run.variables, trajectory=request.trajectory))

                answer = drive(solve(run), perform)
            finally:
                session.shutdown()
        return _prediction(answer, tracker)

    async def aforward(
        self, *, interpreter_factory: InterpreterFactory | None = None, **inputs: Any
    ) -> dspy.Prediction:
        """As `forward`; the event loop never runs a cell, nor waits for one."""
        inputs = checked_inputs(self.signature, inputs)
        with track_usage() as tracker, self._logging():
            run, plan = self._prepare(inputs, asyncio.get_running_loop())
            async with SessionThread(
                functools.partial(open_session, self._factory(interpreter_factory), plan)
            ) as thread:
                ask, adapter = turn_predictor(self.act), turn_adapter()

                async def perform(request: Request) -> Any:
                    match request:
                        case AskRoot():
                            with dspy.context(trace=None, adapter=adapter):
                                try:
                                    return _reply(await ask.acall(**_chat(request)))
                                except dspy.AdapterParseError as error:
                                    return read_unparsed(error)
                        case RunCell():
                            return await thread.run(_timed, thread.session, request.code)
                        case Extract():
                            prediction = await self.extract.acall(
                                variables=run.variables, trajectory=request.trajectory
                            )
                            return self._outputs(prediction)

                try:
                    answer = await adrive(solve(run), perform)
                finally:
                    run.budget.close()
        return _prediction(answer, tracker)

    def dump_state(self, json_mode: bool = True) -> dict[str, Any]:
        """The tuned state to save: instructions, settings, and demos that belong to their predictor."""
        dump: Callable[[], Any] = functools.partial(super().dump_state, json_mode)
        for _, predictor in self.named_predictors():
            dump = functools.partial(without_foreign_demos, predictor, dump)
        return {**dump(), "task": task_names(self.signature)}

    def load_state(self, state: dict[str, Any], *, allow_unsafe_lm_state: bool = False) -> None:
        """Take over a saved state.

        Args:
            state: What `dump_state` gave.
            allow_unsafe_lm_state: As for `dspy.Module`.

        Raises:
            UsageError: it was saved from a program of other predictors, or for a task of other inputs or outputs.
        """
        check_state(state, self.signature, [name for name, _ in self.named_parameters()])
        super().load_state(state, allow_unsafe_lm_state=allow_unsafe_lm_state)

    def __deepcopy__(self, memo: dict[int, Any]) -> RLM:
        copied = type(self).__new__(type(self))
        memo[id(self)] = copied
        copied.__dict__.update({name: copied_attribute(value, memo) for name, value in vars(self).items()})
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        # A signature made from a string is a class of no module, which only cloudpickle takes along.
        return _restored, (type(self), cloudpickle.dumps(vars(self)))

    def _prepare(self, inputs: dict[str, Any], loop: asyncio.AbstractEventLoop | None) -> tuple[Run, SessionPlan]:
        budget, calls = Budget(self.max_iters, self.max_llm_calls), SubCalls()
        outputs = Outputs(self.signature)
        interfaces = {name: SubInterface(name, module) for name, module in self.subs.items()}
        functions: dict[str, Callable[..., Any]] = {
            name: tool_function(tool, loop, lambda: budget.closed) for name, tool in self._tools.items()
        }
        for name, interface in interfaces.items():
            function = SubFunction(interface, getattr(self, name), self.sub_lm, budget, calls)
            functions |= {name: function, batched_name(name): function.batched}
        variables = first_observation(
            self.signature, inputs, outputs, interfaces.values(), self._tools.values(), self.max_llm_calls
        )
        plan = SessionPlan(inputs, functions, outputs.accept, output_fields_info(self.signature), self.max_output_chars)
        return Run(self.act, tuple(inputs), tuple(functions), variables, outputs.call_text(), budget, calls), plan

    def _outputs(self, prediction: dspy.Prediction) -> dict[str, Any]:
        return {name: prediction[name] for name in self.signature.output_fields}

    def _factory(self, of_this_call: InterpreterFactory | None) -> InterpreterFactory:
        configured = dspy.settings.get("interpreter_factory")
        factory = checked_factory(of_this_call) or self._interpreter_factory or checked_factory(configured)
        return factory or functools.partial(RestrictedInterpreter, max_output_chars=self.max_output_chars)

    def _logging(self) -> AbstractContextManager[None]:
        return listening(_log) if self.verbose else nullcontext()


def _restored(kind: type[RLM], attributes: bytes) -> RLM:
    rlm = kind.__new__(kind)
    rlm.__dict__.update(cloudpickle.loads(attributes))
    return rlm


def _chat(request: AskRoot) -> dict[str, Any]:
    # An LM that takes its likeliest reply each time does not get out of a repetition by being told.
    config = {"temperature": _UNSTUCK_TEMPERATURE} if request.stuck else {}
    history = dspy.History(messages=list(request.turns))
    return {"history": history, "observation": request.observation, "config": config}


def _reply(prediction: dspy.Prediction) -> Reply:
    return read_reply(prediction.reasoning, prediction.code)


def _timed(session: Session, code: str) -> tuple[Any, float]:
    started = time.monotonic()
    return session.run_cell(code), time.monotonic() - started


def _prediction(answer: Answer, tracker: UsageTracker) -> dspy.Prediction:
    usage = tracker.get_total_tokens()
    prediction = dspy.Prediction(
        trajectory=answer.trajectory,
        final_reasoning=answer.trajectory[-1].reasoning,
        finish_reason=answer.finish_reason,
        usage=usage,
        **answer.outputs,  # last: `dspy.majority` votes on the last field
    )
    prediction.set_lm_usage(usage)
    return prediction


def _log(event: Event) -> None:
    for line in narrate(event):
        logger.info("%s", line)
