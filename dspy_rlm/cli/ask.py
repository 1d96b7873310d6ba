"""`dspy-rlm ask`: from the command line's words to a run, its display and its exit code."""

from __future__ import annotations

import contextvars
import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from dspy_rlm.cli.inputs import Documents, check_named, read_documents
from dspy_rlm.cli.models import ModelChoice, choose_model, make_lm, named_model
from dspy_rlm.cli.outputs import DEFAULT_OUTPUT, parse_outputs

if TYPE_CHECKING:
    import dspy

    from dspy_rlm.cli.display import Display
    from dspy_rlm.cli.tasks import Task

ANSWERED, NO_ANSWER, INTERRUPTED = 0, 1, 130

# A model on this machine's processor reads some 30 tokens a second, so what a cell printed must be short.
_LOCAL_OUTPUT_CHARS, _OUTPUT_CHARS = 1_500, 10_000


@dataclass(frozen=True)
class AskOptions:
    """What `dspy-rlm ask` was called with."""

    question: str
    files: tuple[str, ...]
    output: str | None
    signature: str | None
    model: str | None
    sub_model: str | None
    program: Path | None
    json: bool
    max_iters: int
    max_llm_calls: int


def run_ask(options: AskOptions) -> int:
    """Answer, and return the exit code.

    Raises:
        typer.BadParameter: the options cannot work.
    """
    interrupted: Callable[[], None] = _interrupted
    try:
        outputs = _outputs(options)
        _check_question(options.question)
        check_named(options.files)
        _check_program(options.program)
        choice = choose_model(options.model, os.environ)
        sub_choice = named_model(options.sub_model, "--sub-model") if options.sub_model else None
        documents = read_documents(options.files, _notice)

        from dspy_rlm.cli.display import make_display  # imports DSPy, which wrong usage need not wait for

        with make_display(options.json) as display:
            interrupted = display.interrupted
            return _run(options, _task(options, outputs, documents), choice, sub_choice, display)
    except KeyboardInterrupt:
        interrupted()
        return INTERRUPTED


def _run(options: AskOptions, task: Task, choice: ModelChoice, sub_choice: ModelChoice | None, display: Display) -> int:
    import dspy

    from dspy_rlm.errors import RLMError

    with _usage_errors():
        lm = make_lm(choice)
        sub_lm = None if sub_choice is None else make_lm(sub_choice)
        rlm = _rlm(options, task, choice, sub_lm)
    patience = "; it runs on this machine, a turn may take a minute" if choice.runs_here else ""
    display.chosen(choice.reason + patience, [lm] if sub_lm is None else [lm, sub_lm])
    try:
        prediction = _interruptible(rlm, task, lm, display)
    except dspy.utils.exceptions.LMConfigurationError as error:  # no key, for example
        told = str(error).split(", or pass ")[0]  # the rest is for those who write Python
        raise typer.BadParameter(told, param_hint="--model") from error
    except (RLMError, dspy.utils.exceptions.DSPyError) as error:
        display.failed(error)
        return NO_ANSWER
    display.answered({name: prediction[name] for name in task.signature.output_fields}, prediction)
    return ANSWERED


def _interruptible(rlm: dspy.Module, task: Task, lm: dspy.LM, display: Display) -> dspy.Prediction:
    """Run on a thread of its own, so that Ctrl-C ends the wait for it whatever it is doing."""
    import dspy

    from dspy_rlm.events import listening
    from dspy_rlm.interrupts import wait_for

    sessions = _Sessions()
    done: Future[Any] = Future()

    def work() -> None:
        try:
            with dspy.context(lm=lm), listening(display.take):
                done.set_result(rlm(interpreter_factory=sessions, **task.inputs))
        except BaseException as error:  # whatever it is, it belongs to the thread that waits
            done.set_exception(error)

    threading.Thread(target=contextvars.copy_context().run, args=(work,), name="dspy-rlm", daemon=True).start()
    try:
        wait_for([done])
        return done.result()
    except KeyboardInterrupt:
        sessions.shutdown()
        raise


class _Sessions:
    """Makes the run's sandbox session and remembers it, to end it from the thread that was interrupted."""

    def __init__(self) -> None:
        self._made: list[Any] = []

    def __call__(self) -> Any:
        from dspy_rlm.sandbox.interpreter import RestrictedInterpreter

        self._made.append(RestrictedInterpreter())
        return self._made[-1]

    def shutdown(self) -> None:
        """End every session that was made."""
        for session in self._made:
            session.shutdown()


def _rlm(options: AskOptions, task: Task, choice: ModelChoice, sub_lm: dspy.LM | None) -> dspy.Module:
    from dspy_rlm.cli.programs import load_program
    from dspy_rlm.rlm import RLM

    rlm = RLM(
        task.signature,
        max_iters=options.max_iters,
        max_llm_calls=options.max_llm_calls,
        max_output_chars=_LOCAL_OUTPUT_CHARS if choice.runs_here else _OUTPUT_CHARS,
        sub_lm=sub_lm,
    )
    if options.program is not None:
        load_program(rlm, options.program)
    return rlm


def _task(options: AskOptions, outputs: dict[str, Any], documents: Documents) -> Task:
    from dspy_rlm.cli.tasks import default_task, load_signature, own_task

    if options.signature is None:
        return default_task(options.question, documents, outputs, _notice)
    return own_task(load_signature(options.signature), options.question, documents, _notice)


def _outputs(options: AskOptions) -> dict[str, Any]:
    if options.signature is not None and options.output is not None:
        raise typer.BadParameter(
            "it cannot be used with --signature, which has outputs of its own", param_hint="--output"
        )
    return parse_outputs(DEFAULT_OUTPUT if options.output is None else options.output)


def _check_question(question: str) -> None:
    if not question.strip():
        raise typer.BadParameter("it is empty", param_hint="QUESTION")


def _check_program(program: Path | None) -> None:
    if program is not None and not program.is_file():
        raise typer.BadParameter(f"{str(program)!r} is no file", param_hint="--program")


@contextmanager
def _usage_errors() -> Iterator[None]:
    """What cannot work with these options, as a usage error."""
    import dspy

    from dspy_rlm.errors import LocalModelError, UsageError

    try:
        yield
    except (UsageError, LocalModelError, dspy.utils.exceptions.LMConfigurationError) as error:
        raise typer.BadParameter(str(error)) from error


def _interrupted() -> None:
    """Before there is a display, nothing was found yet."""
    print("Interrupted.", file=sys.stderr)


def _notice(text: str) -> None:
    print(f"note: {text}", file=sys.stderr)
