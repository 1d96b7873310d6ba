import gzip
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dspy
import pytest
from typer.testing import CliRunner, Result

import dspy_rlm.cli.ask
from dspy_rlm import RLM, __version__
from dspy_rlm.cli.app import app, main
from dspy_rlm.cli.models import MODEL_VARIABLE, PROVIDERS, ModelChoice, make_lm
from dspy_rlm.testing import Reply, ScriptedLM

Ask = Callable[..., Result]


def cell(code: str, reasoning: str = "Because.") -> str:
    return f"{reasoning}\n```python\n{code}\n```"


class Models:
    """Stands in for `make_lm`: scripted LMs by model name, and what was asked for."""

    def __init__(self) -> None:
        self.scripts: dict[str, ScriptedLM] = {}
        self.chosen: list[ModelChoice] = []

    def __call__(self, choice: ModelChoice) -> dspy.LM:
        self.chosen.append(choice)
        return self.scripts[choice.name]

    def script(self, *replies: Reply, name: str = "test/lm") -> ScriptedLM:
        self.scripts[name] = ScriptedLM(list(replies), model=name)
        return self.scripts[name]


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> Models:
    for variable in PROVIDERS:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv(MODEL_VARIABLE, "test/lm")
    models = Models()
    monkeypatch.setattr(dspy_rlm.cli.ask, "make_lm", models)
    return models


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, models: Models) -> Ask:
    monkeypatch.chdir(tmp_path)
    Path("words.txt").write_text("to be or not to be")
    return lambda *arguments, **kwargs: CliRunner().invoke(app, ["ask", *arguments], **kwargs)


def test_the_version_is_shown() -> None:
    assert CliRunner().invoke(app, ["--version"]).stdout == f"dspy-rlm {__version__}\n"


def test_help_names_every_option() -> None:
    result = CliRunner().invoke(app, ["ask", "--help"], env={"COLUMNS": "200"})
    assert result.exit_code == 0
    for option in ("output", "signature", "model", "sub-model", "program", "json", "max-iters", "max-llm-calls"):
        assert f"--{option}" in result.stdout


def test_the_answer_alone_is_on_standard_output(ask: Ask, models: Models) -> None:
    models.script(cell("print(context[:5])", "Look first."), cell("SUBMIT(context.split()[-1])"))
    result = ask("What is the last word?", "words.txt")
    assert (result.exit_code, result.stdout) == (0, "be\n")
    for line in (f"model: test/lm ({MODEL_VARIABLE})", "turn 1: Look first.", "    print(context[:5])", "  > to be"):
        assert line in result.stderr.split("\n")
    assert "Answered (2 turns, " in result.stderr and "tokens read" in result.stderr


def test_question_and_files_are_variables(ask: Ask, models: Models) -> None:
    Path("rows.json").write_text('[{"n": 1}, {"n": 2}]')
    models.script(cell("SUBMIT(f\"{question} {context['rows.json'][1]['n']} {context['words.txt']}\")"))
    assert ask("Q?", "rows.json", "words.txt").stdout == "Q? 2 to be or not to be\n"


def test_standard_input_is_a_file(ask: Ask, models: Models) -> None:
    models.script(cell("SUBMIT(context)"))
    assert ask("Q?", "-", input="größer").stdout == "größer\n"


def test_outputs_are_typed(ask: Ask, models: Models) -> None:
    models.script(cell("SUBMIT('be', 2)"))
    result = ask("Q?", "words.txt", "--output", "word: str, times: int")
    assert (result.exit_code, result.stdout) == (0, "word: be\ntimes: 2\n")


def test_json_is_all_that_is_printed(ask: Ask, models: Models) -> None:
    models.script(cell("print(1)"), cell("SUBMIT('be', 2)"))
    result = ask("Q?", "words.txt", "--output", "word: str, times: int", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    assert json.loads(result.stdout) == {"word": "be", "times": 2}


def test_a_signature_of_ones_own_answers(ask: Ask, models: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("own_signature_for_ask.py").write_text(
        "import dspy\nclass Count(dspy.Signature):\n    '''Count words.'''\n"
        "    text: str = dspy.InputField()\n    words: int = dspy.OutputField()\n"
    )
    monkeypatch.syspath_prepend(Path.cwd())
    lm = models.script(cell("SUBMIT(len(text.split()))"))
    result = ask("How many?", "words.txt", "--signature", "own_signature_for_ask:Count")
    assert (result.exit_code, result.stdout) == (0, "6\n")
    assert "Count words." in lm.calls[0][0]["content"]


def test_sub_queries_go_to_the_sub_model(ask: Ask, models: Models) -> None:
    models.script(cell("SUBMIT(llm_query('Say hi'))"))
    sub = models.script("[[ ## response ## ]]\nhi\n\n[[ ## completed ## ]]", name="test/sub")
    result = ask("Q?", "words.txt", "--model", "test/lm", "--sub-model", "test/sub")
    assert (result.exit_code, result.stdout) == (0, "hi\n")
    assert [choice.reason for choice in models.chosen] == ["--model", "--sub-model"]
    assert len(sub.calls) == 1
    assert "  llm_query: 1 call" in result.stderr and "1 sub-call" in result.stderr


def test_a_tuned_program_is_loaded_without_the_model_it_was_tuned_with(ask: Ask, models: Models) -> None:
    tuned = RLM("context, question -> answer")
    tuned.set_lm(dspy.LM("openai/other"))
    tuned.act.signature = tuned.act.signature.with_instructions("TUNED INSTRUCTIONS")
    tuned.save("tuned.json")
    lm = models.script(cell("SUBMIT('x')"))
    assert ask("Q?", "words.txt", "--program", "tuned.json").exit_code == 0
    assert "TUNED INSTRUCTIONS" in lm.calls[0][0]["content"]


def test_when_turns_run_out_the_answer_is_put_together(ask: Ask, models: Models) -> None:
    models.script(cell("print(1)"), "[[ ## answer ## ]]\nbe\n\n[[ ## completed ## ]]")
    result = ask("Q?", "words.txt", "--max-iters", "1")
    assert (result.exit_code, result.stdout) == (0, "be\n")
    assert "ran out of turns" in result.stderr


def test_sub_queries_can_be_forbidden(ask: Ask, models: Models) -> None:
    models.script(cell("llm_query('Say hi')"), cell("SUBMIT('x')"))
    result = ask("Q?", "words.txt", "--max-llm-calls", "0")
    assert result.exit_code == 0 and "limit exceeded" in result.stderr


def failing(ask: Ask, models: Models, *options: str) -> Result:
    models.script(cell("print('seen')"), dspy.LMAuthError("the key is wrong\n\n  To fix:\n - x", model="test/lm"))
    return ask("Q?", "words.txt", *options)


def test_a_failure_of_the_provider_is_one_line_and_no_answer(ask: Ask, models: Models) -> None:
    result = failing(ask, models)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "No answer: [test/lm] the key is wrong\n" in result.stderr
    assert "To fix" not in result.stderr and "Traceback" not in result.stderr


def test_a_failure_is_json_too(ask: Ask, models: Models) -> None:
    result = failing(ask, models, "--json")
    told = json.loads(result.stdout)
    assert (result.exit_code, result.stderr) == (1, "")
    assert told["error"] == "[test/lm] the key is wrong"
    assert [step["output"].strip() for step in told["steps"]] == ["seen"]


def test_no_answer_is_exit_code_one(ask: Ask, models: Models) -> None:
    models.script(cell("print(1)"), *["nothing of use"] * 4)
    result = ask("Q?", "words.txt", "--max-iters", "1", "--output", "n: int")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "No answer: no answer after 1 turn" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "Missing argument"),
        (["Q?"], "Missing argument 'FILE'"),
        (["Q?", "nowhere.txt"], "'nowhere.txt' does not exist"),
        (["Q?", "words.txt", "--output", "a: strr"], "'strr' is no type"),
        (["Q?", "words.txt", "--output", "SUBMIT"], "rename the output"),
        (["Q?", "words.txt", "--output", "question"], "'question' is the name of an input: rename the output"),
        (["Q?", "words.txt", "--output", "context: int"], "'context' is the name of an input"),
        ([" ", "words.txt"], "it is empty"),
        (["Q?", "empty.txt"], "there is nothing to answer from: 'empty.txt' is empty"),
        (["Q?", "empty.txt", "empty.txt.gz"], "'empty.txt', 'empty.txt.gz' is empty"),
        (["Q?", "words.txt", "--output", "a", "--signature", "m:C"], "cannot be used with --signature"),
        (["Q?", "words.txt", "--signature", "C"], "MODULE:CLASS"),
        (["Q?", "words.txt", "--model", "nowhere.gguf"], "does not exist"),
        (["Q?", "words.txt", "--sub-model", "gpt-5"], "openai/gpt-5"),
        (["Q?", "words.txt", "--program", "nowhere.json"], "is no file"),
        (["Q?", "words.txt", "--program", "words.txt"], "cannot be loaded"),
        (["Q?", "words.txt", "--max-iters", "0"], "--max-iters"),
        (["Q?", "words.txt", "--max-llm-calls", "-1"], "--max-llm-calls"),
        (["Q?", "words.txt", "--nonsense"], "No such option"),
    ],
)
def test_wrong_usage_is_exit_code_two(ask: Ask, models: Models, arguments: list[str], why: str) -> None:
    models.script()
    Path("empty.txt").touch()
    Path("empty.txt.gz").write_bytes(gzip.compress(b""))
    result = ask(*arguments, env={"COLUMNS": "300"})
    assert (result.exit_code, result.stdout) == (2, "")
    assert why in result.stderr and "Traceback" not in result.stderr


def test_what_is_wrong_with_the_files_is_told_before_the_missing_model(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(MODEL_VARIABLE)
    monkeypatch.setattr("dspy_rlm.cli.models._local_is_installed", lambda: False)
    assert "'nowhere.txt' does not exist" in ask("Q?", "nowhere.txt", env={"COLUMNS": "300"}).stderr
    assert "there is no model to ask" in ask("Q?", "words.txt", env={"COLUMNS": "300"}).stderr


def test_a_missing_key_is_wrong_usage(ask: Ask, models: Models) -> None:
    error = dspy.LMNotConfiguredError("[m] no API key found. Set THE_KEY, or pass api_key='...' to dspy.LM(...).")

    def deny(*_: Any) -> str:
        raise error

    models.script(deny)
    result = ask("Q?", "words.txt", env={"COLUMNS": "300"})
    assert result.exit_code == 2
    assert "Set THE_KEY" in result.stderr and "dspy.LM" not in result.stderr


def test_a_file_that_is_no_model_is_wrong_usage(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dspy_rlm.cli.ask, "make_lm", make_lm)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    Path("junk.gguf").write_bytes(b"junk")
    result = ask("Q?", "words.txt", "--model", "junk.gguf", env={"COLUMNS": "300"})
    assert result.exit_code == 2 and "is not a GGUF model file: it begins with b'junk'" in result.stderr


def interrupt(*_: Any) -> str:
    raise KeyboardInterrupt


def test_an_interrupted_run_shows_what_was_found(ask: Ask, models: Models) -> None:
    models.script(cell("print('seen so far')"), interrupt)
    result = ask("Q?", "words.txt")
    assert (result.exit_code, result.stdout) == (130, "")
    assert "Interrupted (1 turn, " in result.stderr
    assert result.stderr.endswith("The last output was:\nseen so far\n")


def test_an_interrupted_run_before_any_cell_has_found_nothing(ask: Ask, models: Models) -> None:
    models.script(interrupt)
    result = ask("Q?", "words.txt")
    assert result.exit_code == 130 and result.stderr.endswith("Nothing was found yet.\n")


def test_an_interrupted_run_is_json_too(ask: Ask, models: Models) -> None:
    models.script(cell("print('seen so far')"), interrupt)
    result = ask("Q?", "words.txt", "--json")
    told = json.loads(result.stdout)
    assert (result.exit_code, told["error"], len(told["steps"])) == (130, "interrupted", 1)


def test_being_interrupted_while_files_are_read_is_no_crash(
    ask: Ask, models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dspy_rlm.cli.ask, "read_documents", interrupt)
    result = ask("Q?", "words.txt")
    assert (result.exit_code, result.stderr) == (130, "Interrupted.\n")


@pytest.mark.parametrize("configured", [None, "False"])
def test_the_command_fetches_no_price_list_unless_told_to(
    configured: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["dspy-rlm", "--version"])
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", configured or "")
    if configured is None:
        monkeypatch.delenv("LITELLM_LOCAL_MODEL_COST_MAP")
    with pytest.raises(SystemExit):
        main()
    assert os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] == (configured or "True")
