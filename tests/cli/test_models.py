from pathlib import Path

import pytest
import typer

from dspy_rlm.cli import models
from dspy_rlm.cli.models import MODEL_VARIABLE, PROVIDERS, ModelChoice, choose_model, make_lm, named_model


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "_local_is_installed", lambda: True)


def test_the_named_model_comes_before_everything() -> None:
    environment = {MODEL_VARIABLE: "openai/b", "OPENAI_API_KEY": "k"}
    assert choose_model("openai/a", environment) == ModelChoice("provider", "openai/a", "--model")


def test_then_comes_the_one_of_the_variable() -> None:
    environment = {MODEL_VARIABLE: "openai/b", "OPENAI_API_KEY": "k"}
    assert choose_model(None, environment) == ModelChoice("provider", "openai/b", MODEL_VARIABLE)


@pytest.mark.parametrize("key", PROVIDERS)
def test_then_the_provider_whose_key_is_set(key: str) -> None:
    assert choose_model(None, {key: "k"}) == ModelChoice("provider", PROVIDERS[key], f"{key} is set")


def test_an_empty_key_is_no_key() -> None:
    assert choose_model(None, {"OPENAI_API_KEY": "", MODEL_VARIABLE: ""}).kind == "local"


def test_without_any_of_these_the_three_ways_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "_local_is_installed", lambda: False)
    with pytest.raises(typer.BadParameter) as refusal:
        choose_model(None, {})
    for command in (f"export {MODEL_VARIABLE}=", "export OPENAI_API_KEY=", 'pip install "dspy-rlm[local]"', "--model"):
        assert command in refusal.value.message
    assert all(key in refusal.value.message for key in PROVIDERS)


def test_a_gguf_file_is_named_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.touch()
    assert named_model(str(path), "--model") == ModelChoice("gguf", str(path), "--model")
    assert named_model(str(path), "--model").runs_here


@pytest.mark.parametrize(("name", "why"), [("nowhere/m.gguf", "does not exist"), ("gpt-5", "openai/gpt-5")])
def test_a_name_that_cannot_be_one_is_refused(name: str, why: str) -> None:
    with pytest.raises(typer.BadParameter, match=why) as refusal:
        named_model(name, "--sub-model")
    assert refusal.value.param_hint == "--sub-model"


def test_a_provider_model_is_an_lm_of_that_name() -> None:
    assert make_lm(named_model("openai/x", "--model")).model == "openai/x"
