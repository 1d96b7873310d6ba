"""SUBMIT counts when it is called and accepted, whatever the cell does afterwards."""

from __future__ import annotations

import pytest
from dspy.primitives.code_interpreter import FinalOutput

from dspy_rlm import SubmissionRefusedError
from dspy_rlm.sandbox.interpreter import RestrictedInterpreter
from dspy_rlm.sandbox.outcomes import Failed, Output, Submitted


@pytest.fixture
def strict():
    def accept(args, kwargs):
        if "no" in args:
            raise SubmissionRefusedError("not that")
        return [list(args), dict(kwargs)]

    with RestrictedInterpreter(on_submit=accept) as session:
        yield session


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("SUBMIT(1, b=2)", [[1], {"b": 2}]),
        ("FINAL('x')", [["x"], {}]),
        ("answer = [1]\nFINAL_VAR('answer')", [[[1]], {}]),
        ("def f(): SUBMIT(1)\nf()", [[1], {}]),
        ("try:\n    SUBMIT(1)\nexcept:\n    pass\nSUBMIT(2)", [[1], {}]),
    ],
)
def test_a_submission_gives_what_the_host_made_of_it(strict, code, value):
    assert strict.run_cell(code) == Submitted(Output(), value)


def test_what_was_printed_before_a_submission_is_kept(strict):
    outcome = strict.run_cell("print('so')\nSUBMIT(1)\nprint('never')")
    assert outcome.output.head == "so\n"


def test_a_refused_submission_is_an_error_at_its_line_and_the_cell_may_go_on(strict):
    outcome = strict.run_cell("x = 1\nSUBMIT('no')")
    assert isinstance(outcome, Failed)
    assert (outcome.error.kind, outcome.error.message, outcome.error.line) == ("SubmissionRefusedError", "not that", 2)
    code = "try:\n    SUBMIT('no')\nexcept ValueError:\n    SUBMIT('yes')"
    assert strict.run_cell(code) == Submitted(Output(), [["yes"], {}])


def test_a_cell_that_goes_on_after_its_submission_is_ended(strict):
    outcome = strict.run_cell("try:\n    SUBMIT(1)\nexcept BaseException:\n    pass\nwhile True: pass")
    assert isinstance(outcome, Submitted) and outcome.value == [[1], {}]


def test_an_unknown_variable_cannot_be_final(strict):
    outcome = strict.run_cell("FINAL_VAR('nothing')")
    assert isinstance(outcome, Failed) and "there is no variable 'nothing'" in outcome.error.message


def test_without_a_handler_output_fields_say_what_is_taken():
    with RestrictedInterpreter(output_fields=[{"name": "ip", "type": "str"}, {"name": "n"}]) as session:
        assert session.execute("SUBMIT('a', 1)") == FinalOutput({"ip": "a", "n": 1})
        assert session.execute("SUBMIT(n=1, ip='a')") == FinalOutput({"ip": "a", "n": 1})
        assert "ip, n, each once" in session.run_cell("SUBMIT('a')").error.message
    with RestrictedInterpreter() as session:
        assert session.execute("SUBMIT(4)") == FinalOutput({"output": 4})
