"""Every example runs from beginning to end, with cells that a root LM might write."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from dspy_rlm.testing import Messages, ScriptedLM

EXAMPLES = Path(__file__).parents[2] / "examples"

READ_ROWS = "import csv, io\nrows = list(csv.DictReader(io.StringIO(airports)))"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    """Loads an example as running it does: its folder is where it finds `common`."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    names = {path.stem for path in EXAMPLES.glob("*.py")}
    yield import_module
    for name in names:
        sys.modules.pop(name, None)


def cell(code: str) -> str:
    return f"Next.\n```python\n{code}\n```"


def answers(**fields: Any) -> str:
    return "".join(f"[[ ## {name} ## ]]\n{value}\n\n" for name, value in fields.items()) + "[[ ## completed ## ]]"


def test_every_example_has_a_test() -> None:
    tested = {name.removeprefix("test_").split("_answers_")[0] for name in globals() if "_answers_" in name}
    assert tested == {path.stem for path in EXAMPLES.glob("*.py")} - {"common"}


def test_quickstart_answers_which_country_has_most_airports(
    example: Callable[[str], ModuleType], capsys: pytest.CaptureFixture[str]
) -> None:
    count = "from collections import Counter\nbest = Counter(row['country'] for row in rows).most_common(1)[0]"
    lm = ScriptedLM([cell(f"{READ_ROWS}\n{count}\nprint(best)"), cell("SUBMIT(country=best[0], count=best[1])")])
    result = example("quickstart").main(lm)
    assert (result.country, result.count, lm.left) == ("US", 12579, 0)
    assert "US: 12579 airports (submitted)" in capsys.readouterr().out


def test_typed_extraction_answers_with_models_after_a_correction(
    example: Callable[[str], ModuleType], capsys: pytest.CaptureFixture[str]
) -> None:
    find = (
        "import re, datetime\n"
        "days = [datetime.date.fromisoformat(d) for d in re.findall(r'placed ([-\\d]+)', text)]\n"
        "numbers = [int(n) for n in re.findall(r'Order (\\d+)', text)]\n"
        "sums = re.findall(r'([\\d,.]+) euro', text)\n"
    )
    submit = "SUBMIT(records=[dict(number=n, placed=d, amount={}) for n, d, s in zip(numbers, days, sums)])"
    lm = ScriptedLM(
        [cell(find + submit.format("'about ' + s")), cell(submit.format("float(s.replace(',', ''))"))],
    )
    result = example("typed_extraction").main(lm)
    assert [type(order).__name__ for order in result.records] == ["Order", "Order"]
    assert "1041: 1250.00 euro, placed on 03 March 2025" in capsys.readouterr().out
    assert "amount" in lm.calls[1][-1]["content"]  # the refusal tells which field was wrong


def test_sub_modules_answers_by_calling_one_in_a_batch(example: Callable[[str], ModuleType]) -> None:
    def topic(messages: Messages) -> str:
        asked = messages[-1]["content"]
        return answers(topic="billing" if "charged" in asked else "wish" if "theme" in asked else "bug")

    code = "from collections import Counter\nSUBMIT(counts=dict(Counter(classify_batched(tickets))))"
    result = example("sub_modules").main(ScriptedLM([cell(code), topic, topic, topic, topic]))
    assert result.counts == {"bug": 2, "billing": 1, "wish": 1}


def test_tools_answers_by_calling_a_function_of_the_program(example: Callable[[str], ModuleType]) -> None:
    code = "SUBMIT(short=[order['item'] for order in orders if order['pieces'] > in_stock(order['item'])])"
    assert example("tools").main(ScriptedLM([cell(code)])).short == ["lamp", "table"]


def test_code_base_answers_with_lines_that_are_there(
    example: Callable[[str], ModuleType], capsys: pytest.CaptureFixture[str]
) -> None:
    code = (
        "found = [{'path': path, 'line': n, 'code': line} for path, text in files.items()\n"
        "         for n, line in enumerate(text.splitlines(), 1) if 'class JSONDecodeError' in line]\n"
        "SUBMIT(answer='decoder.py; ValueError', references=found)"
    )
    example("code_base").main(ScriptedLM([cell(code)]))
    printed = capsys.readouterr().out
    assert "class JSONDecodeError(ValueError):   [found]" in printed
    assert "NOT FOUND" not in printed


def test_async_many_answers_each_question_of_a_batch(example: Callable[[str], ModuleType]) -> None:
    code = f"{READ_ROWS}\ncode = question.rstrip('?').split()[-1]\nSUBMIT(sum(row['country'] == code for row in rows))"
    counts = example("async_many").main(ScriptedLM([cell(code)] * 3))
    assert counts["IS"] == 79
    assert set(counts) == {"IS", "CH", "NZ"}


def test_the_variable_names_the_model(example: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DSPY_RLM_MODEL", "openai/gpt-5.4-mini")
    assert example("common").chosen_lm().model == "openai/gpt-5.4-mini"
