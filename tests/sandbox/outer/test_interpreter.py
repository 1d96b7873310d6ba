"""`RestrictedInterpreter` is a DSPy `CodeInterpreter`, and serves DSPy's own modules."""

from __future__ import annotations

import dspy
import pytest
from dspy.primitives.code_interpreter import CodeExecutionError, CodeInterpreter, CodeInterpreterError
from dspy.utils import DummyLM

from dspy_rlm import CellFailedError, SandboxError, SandboxUnavailableError, UsageError
from dspy_rlm.sandbox import launch
from dspy_rlm.sandbox.interpreter import RestrictedInterpreter


def test_it_satisfies_the_protocol():
    assert isinstance(RestrictedInterpreter(), CodeInterpreter)
    assert issubclass(CellFailedError, CodeExecutionError) and issubclass(SandboxError, CodeInterpreterError)


def test_execute_gives_what_a_cell_showed(session):
    assert session.execute("print('a')\n1 + n", {"n": 2}) == "a\n3"
    assert session("pass") is None


def test_execute_raises_what_the_protocol_names(session):
    with pytest.raises(CellFailedError, match="ZeroDivisionError: division by zero"):
        session.execute("1 / 0")
    with pytest.raises(CellFailedError, match="'os' is not available"):
        session.execute("import os")
    with pytest.raises(SyntaxError):
        session.execute("def f(:")


def test_tools_may_change_between_cells(session):
    session.tools["f"] = lambda: 1
    assert session.execute("f()") == "1"
    session.tools["f"] = lambda: 2
    assert session.execute("f()") == "2"
    del session.tools["f"]
    with pytest.raises(CellFailedError, match="NameError"):
        session.execute("f()")


def test_a_variable_that_a_cell_changed_is_as_given_again(session):
    text = "given"
    session.execute("text = 'changed'", {"text": text})
    assert session.execute("text", {"text": text}) == "'given'"


@pytest.mark.parametrize("name", ["SUBMIT", "class", "a b", "__builtins__", "1x"])
def test_names_that_cannot_be_variables_are_refused(session, name):
    with pytest.raises(UsageError, match="rename it"):
        session.bind({name: 1})


@pytest.mark.parametrize("argument", ["cell_timeout", "memory_limit", "max_output_chars"])
def test_limits_must_be_positive(argument):
    with pytest.raises(UsageError, match=f"{argument} must be more than 0, got 0"):
        RestrictedInterpreter(**{argument: 0})


def test_elsewhere_than_on_linux_it_says_so(monkeypatch):
    monkeypatch.setattr(launch.sys, "platform", "win32")
    with pytest.raises(SandboxUnavailableError, match="needs Linux, this is win32"):
        RestrictedInterpreter().start()


def test_a_missing_wall_can_be_refused(monkeypatch):
    monkeypatch.setattr(launch.zygote_for(()), "missing_walls", ("the roof",))
    with pytest.raises(SandboxUnavailableError, match="without the roof"):
        RestrictedInterpreter(require_isolation=True).start()


def test_a_module_that_is_not_installed_is_named():
    with pytest.raises(SandboxUnavailableError, match="no_such_module"):
        RestrictedInterpreter(extra_modules=("no_such_module",)).start()


def test_dspy_rlm_runs_on_it():
    replies = [{"reasoning": "look", "code": "```python\nn = len(log)\nprint(n)\n```"},
               {"reasoning": "done", "code": "```python\nSUBMIT(n)\n```"}]  # fmt: skip
    with dspy.context(lm=DummyLM(replies)):
        result = dspy.RLM("log -> length: int", interpreter_factory=RestrictedInterpreter)(log="x" * 1000)
    assert result.length == 1000


@pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning")
def test_program_of_thought_runs_on_it():
    replies = [
        {"reasoning": "r", "generated_code": "```python\nSUBMIT({'answer': 6 * 7})\n```"},
        {"reasoning": "r", "answer": "42"},
    ]
    with dspy.context(lm=DummyLM(replies)):
        result = dspy.ProgramOfThought("question -> answer", interpreter_factory=RestrictedInterpreter)(question="6*7?")
    assert result.answer == "42"


def double(n: int) -> int:
    """Double a number."""
    return 2 * n


@pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning")
def test_code_act_runs_on_it():
    replies = [
        {"generated_code": "```python\nx = double(21)\nprint(x)\n```", "finished": True},
        {"reasoning": "r", "answer": "42"},
    ]
    with dspy.context(lm=DummyLM(replies)):
        program = dspy.CodeAct("question -> answer", tools=[double], interpreter_factory=RestrictedInterpreter)
        result = program(question="2*21?")
    assert result.answer == "42"
    assert "42" in str(result.trajectory)
