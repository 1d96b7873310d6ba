"""What becomes of a cell: output, values, errors, refusals, and what holds between cells."""

from __future__ import annotations

import pytest

from dspy_rlm.sandbox.cells import Namespace, SubmitSignal, compile_cell, preload, run_cell
from dspy_rlm.sandbox.outcomes import Failed, Output, Ran, Refused
from dspy_rlm.sandbox.rendering import render


def test_a_trailing_expression_is_shown_as_a_notebook_shows_it(session):
    outcome = session.run("x = [1, 2]\nx")
    assert outcome == Ran(Output(), Output("[1, 2]", "", 6), [1, 2])


def test_a_trailing_none_shows_nothing(session):
    assert session.run("print('a')") == Ran(Output("a\n", "", 2), None, None)


def test_a_value_is_not_left_over_for_the_next_cell(session):
    session.run("5")
    assert session.run("pass") == Ran(Output(), None, None)


def test_a_cell_that_shows_nothing_tells_the_variables_it_set_the_last_set_last(session):
    outcome = session.run(
        "a = b, (c, *d) = 1, 'xy'\na += (2,)\nfor e in a:\n  if e: f = e\n  else: pass\ndef g(): pass\ng = None\nh: int\nimport re"
    )
    assert outcome.value is None
    assert [(name, shown.head) for name, shown in outcome.variables] == [
        ("b", "1"), ("c", "'x'"), ("a", "(1, 'xy', 2)"), ("f", "2"), ("g", "None")
    ]  # fmt: skip


@pytest.mark.parametrize("source", ["x = 1\nprint('a')", "x = 1\nx", "x = 1\n1 / 0"])
def test_a_cell_that_shows_something_does_not_tell_its_variables(session, source):
    assert not getattr(session.run(source), "variables", ())


def test_what_every_round_of_a_loop_sets_anew_is_not_told(session):
    outcome = session.run(
        "n = 0\nfor c in 'abc':\n    d = c\n    n += 1\n    if d == 'b':\n        found = d\n        break"
    )
    assert [(name, shown.head) for name, shown in outcome.variables] == [("n", "2"), ("found", "'b'")]


def test_a_function_is_told_by_its_name_and_that_it_was_not_called(session):
    ((name, shown),) = session.run("def count(text): return len(text)").variables
    assert (name, shown.head) == ("count", "the function count, which was not called")


def test_a_long_variable_is_cut(session):
    ((name, shown),) = session.run("x = 'a' * 10_000_000").variables
    assert name == "x" and len(shown.head) + len(shown.tail) <= 300


def test_a_long_container_is_told_by_what_it_is(session):
    outcome = session.run(
        "rows = [{'city': 'Bern'}] * 5_000\ncounts = {**dict.fromkeys(range(4_998), 1), 'z': 9, 'a': 0}\n"
        "names = dict.fromkeys(range(5_000), 'x')\nfirst = rows[0]"
    )
    assert [(name, shown.head, shown.tail) for name, shown in outcome.variables] == [
        ("rows", "list of 5,000 items, one of them: {'city': 'Bern'}", ""),
        ("counts", "dict of 5,000 items, the least by value: ('a', 0), the greatest: ('z', 9)", ""),
        ("names", "dict of 5,000 items, not shown: print what of it is needed", ""),
        ("first", "{'city': 'Bern'}", ""),
    ]


def test_top_level_await_gives_its_value(session):
    outcome = session.run("import asyncio\nasync def f(): return 3\nawait f()")
    assert isinstance(outcome, Ran) and outcome.raw_value == 3


def test_variables_functions_and_classes_last_over_cells(session):
    session.run("class A:\n    def __init__(self): self._n = 1\ndef f(a): a._n += 1; return a._n")
    session.run("a = A()")
    assert session.printed("print(f(a), a._n)") == "2 2\n"


def test_an_error_carries_the_models_own_line(session):
    session.run("def f(x):\n    return 1 / x")
    outcome = session.run("y = 1\nf(0)")
    assert isinstance(outcome, Failed)
    assert (outcome.error.kind, outcome.error.line, outcome.error.text) == ("ZeroDivisionError", 2, "return 1 / x")
    assert outcome.error.trace == (
        "Traceback (most recent call last):\n  <cell 2>, line 2\n    f(0)\n"
        "  <cell 1>, line 2, in f\n    return 1 / x\nZeroDivisionError: division by zero\n"
    )


def test_a_trace_shows_no_frames_of_ours_or_of_the_library(session):
    outcome = session.run("import json\njson.loads('{')")
    assert isinstance(outcome, Failed) and ".py" not in outcome.error.trace


def test_chained_exceptions_and_groups_are_readable(session):
    outcome = session.run("try: {}['a']\nexcept KeyError as e: raise ExceptionGroup('all', [ValueError('v')]) from e")
    assert isinstance(outcome, Failed)
    for part in ("KeyError: 'a'", "direct cause", "ExceptionGroup: all", "ValueError: v"):
        assert part in outcome.error.trace


def test_what_was_printed_before_an_error_is_kept(session):
    outcome = session.run("print('before')\n1 / 0")
    assert isinstance(outcome, Failed) and outcome.output.head == "before\n"


def test_a_deep_recursion_gives_a_short_trace(session):
    outcome = session.run("def f(): return f()\nf()")
    assert isinstance(outcome, Failed) and "more frames" in outcome.error.trace and len(outcome.error.trace) < 2_000


def test_an_exception_that_cannot_be_shown_is_still_reported(session):
    outcome = session.run("class E(Exception):\n    def __str__(self): return 1 / 0\nraise E")
    assert isinstance(outcome, Failed) and "ZeroDivisionError" in outcome.error.message


@pytest.mark.parametrize("source", ["exit()", "quit(1)", "raise SystemExit"])
def test_a_cell_cannot_end_the_session(source, session):
    outcome = session.run(source)
    assert isinstance(outcome, Failed) and "SUBMIT" in outcome.error.message


def test_a_missing_name_that_is_an_absent_builtin_says_what_to_do(session):
    outcome = session.run("def f(): return open\nf()" if False else "if False: open = 1\nopen('x')")
    assert isinstance(outcome, Failed) and "no files here" in outcome.error.message


def test_scaffolding_and_inputs_come_back_before_the_next_cell(session):
    session.namespace.bind("context", "text")
    session.namespace.bind("llm_query", len)
    session.run("print = 1\nllm_query = None\ndel context")
    assert session.printed("print(context, llm_query('abc'))") == "text 3\n"


@pytest.mark.parametrize("source", ["log = log.split()", "del log", "def log(): pass", "for log in [1, 2]: pass"])
def test_an_input_that_a_cell_rebinds_is_as_before_and_the_outcome_says_so(source, session):
    session.namespace.bind("log", "a b")
    outcome = session.run(source)
    assert outcome.restored == ("log",) and not outcome.variables
    assert "log is again as before this cell" in render(outcome)
    assert session.printed("print(log)") == "a b\n"


def test_a_failed_cell_says_too_which_names_are_as_before(session):
    session.namespace.bind("log", "a b")
    outcome = session.run("log = log.split()\nprint = 1\n1 / 0")
    assert isinstance(outcome, Failed) and outcome.restored == ("log", "print")
    assert "log, print are again as before this cell" in render(outcome)


def test_an_unbound_name_is_gone(session):
    session.namespace.bind("x", 1)
    session.namespace.unbind("x")
    session.namespace.unbind("never")
    assert isinstance(session.run("x"), Failed)


def test_an_input_may_have_the_name_of_an_absent_builtin(session):
    session.namespace.bind("input", "text")
    assert session.printed("print(input)") == "text\n"


def test_all_refusals_of_a_cell_come_at_once_with_line_text_and_remedy(session):
    outcome = session.run("import os\nx = 1\ny = open('f')\nprint(x.__class__.__name__)")
    assert isinstance(outcome, Refused) and outcome.kind == "policy"
    assert [(refusal.line, refusal.text) for refusal in outcome.refusals] == [
        (1, "import os"),
        (3, "y = open('f')"),
        (4, "print(x.__class__.__name__)"),
    ]
    assert "type(x).__name__" in outcome.refusals[2].reason


@pytest.mark.parametrize(
    ("source", "line", "part"),
    [
        ("x = 1\ny = = 2", 2, "invalid syntax"),
        ("def f():\nreturn 1", 2, "expected an indented block"),
        ("x = '\ud800'", 1, "surrogates"),
        ("x = 1\0", 1, "null"),
        ("x = " + "(" * 300 + ")" * 300, 1, "nested"),
        ("x = " + "-" * 100_000 + "1", 1, "nested"),
        ("x = " + " + ".join(["1"] * 20_000), 1, "nested"),
    ],
    ids=["operator", "indent", "surrogate", "null", "parentheses", "unary", "sum"],
)
def test_what_the_compiler_rejects_is_a_refusal(source, line, part, session):
    outcome = session.run(source)
    assert isinstance(outcome, Refused) and outcome.kind == "syntax", outcome
    assert outcome.refusals[0].line == line
    assert part in outcome.refusals[0].reason or "too many" in outcome.refusals[0].reason


def _submit():
    raise SubmitSignal


@pytest.mark.parametrize(
    "source",
    [
        "SUBMIT()",
        "try: SUBMIT()\nexcept: pass",
        "try: SUBMIT()\nexcept BaseException: pass",
        "E = BaseException\ntry: SUBMIT()\nexcept (ValueError, E) as e: pass",
        "async def f():\n    try: SUBMIT()\n    except: pass\nawait f()",
        "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor() as ex: ex.submit(SUBMIT).result()",
    ],
)
def test_a_submission_ends_the_cell_through_any_handler(source):
    namespace = Namespace()
    namespace.bind("SUBMIT", _submit)
    compiled = compile_cell("print('before')\n" + source + "\nprint('after')", 1, namespace)
    assert not isinstance(compiled, Refused)
    with pytest.raises(SubmitSignal):
        run_cell(compiled, namespace)
    assert namespace.output().head == "before\n"


def test_an_uncaught_memory_error_leaves_the_cell_to_the_worker():
    namespace = Namespace()
    compiled = compile_cell("raise MemoryError", 1, namespace)
    assert not isinstance(compiled, Refused)
    with pytest.raises(MemoryError):
        run_cell(compiled, namespace)


def test_threads_are_over_when_the_cell_is_over(session):
    source = "import threading, time\ndone = []\ndef f():\n    time.sleep(0.01); done.append(1)\nthreading.Thread(target=f).start()"
    session.run(source)
    assert session.printed("print(done)") == "[1]\n"


def test_an_exception_in_a_thread_is_printed(session):
    printed = session.printed("import threading\ndef f(): 1 / 0\nt = threading.Thread(target=f); t.start(); t.join()")
    assert "ZeroDivisionError" in printed and ".py" not in printed


def test_format_exc_shows_the_cells_own_lines(session):
    printed = session.printed("import traceback\ntry: 1 / 0\nexcept Exception: print(traceback.format_exc())")
    assert "<cell 1>, line 2" in printed and "ZeroDivisionError" in printed


def test_an_extra_module_is_importable_with_its_submodules():
    namespace = Namespace(extra_modules=("xml.etree.ElementTree",))
    source = (
        "import xml.etree.ElementTree as ET\nfrom xml.etree import ElementTree\nET.fromstring('<a b=\"1\"/>').get('b')"
    )
    compiled = compile_cell(source, 1, namespace)
    assert not isinstance(compiled, Refused)
    outcome = run_cell(compiled, namespace)
    assert isinstance(outcome, Ran) and outcome.raw_value == "1"


def test_modules_of_others_are_not_reached_through_an_extra_module():
    namespace = Namespace(extra_modules=("xml.etree.ElementTree",))
    compiled = compile_cell("import xml.etree.ElementTree as ET\nET.sys", 1, namespace)
    assert not isinstance(compiled, Refused)
    assert isinstance(run_cell(compiled, namespace), Failed)


def test_time_zones_are_there_without_files(monkeypatch, session):
    import zoneinfo

    monkeypatch.setattr(zoneinfo._common, "load_tzdata", zoneinfo._common.load_tzdata)
    path = zoneinfo.TZPATH
    preload()
    try:
        assert zoneinfo.TZPATH == ()
        source = "from zoneinfo import ZoneInfo, available_timezones\nprint(ZoneInfo('Asia/Tokyo'), len(available_timezones()) > 300)"
        assert session.printed(source) == "Asia/Tokyo True\n"
    finally:
        zoneinfo.reset_tzpath(path)
