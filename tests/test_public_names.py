"""The public names, pinned."""

from __future__ import annotations

import subprocess
import sys

import dspy_rlm


def test_the_public_names_are_these():
    assert sorted(dspy_rlm.__all__) == [
        "BudgetExceededError",
        "CellFailedError",
        "LocalModelError",
        "NoAnswerError",
        "RLM",
        "RLMError",
        "RestrictedInterpreter",
        "SandboxError",
        "SandboxUnavailableError",
        "Step",
        "SubmissionRefusedError",
        "Trajectory",
        "UsageError",
        "__version__",
        "testing",
    ]
    assert all(getattr(dspy_rlm, name) is not None for name in dspy_rlm.__all__)
    assert dir(dspy_rlm) == sorted(dspy_rlm.__all__)


def test_the_public_names_of_testing_are_these():
    assert set(dspy_rlm.testing.__all__) == {
        "Output",
        "Ran",
        "ScriptExhaustedError",
        "ScriptedInterpreter",
        "ScriptedLM",
    }


def test_every_error_is_in_one_tree():
    errors = [getattr(dspy_rlm, name) for name in dspy_rlm.__all__ if name.endswith("Error")]
    assert all(issubclass(error, dspy_rlm.RLMError) for error in errors)


def test_an_unknown_name_is_an_attribute_error():
    assert not hasattr(dspy_rlm, "Rlm")


def test_importing_the_package_imports_neither_dspy_nor_litellm():
    code = "import sys, dspy_rlm; print('dspy' in sys.modules, 'litellm' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.split() == ["False", "False"]


def test_importing_rlm_does_not_import_litellm():
    code = "import sys; from dspy_rlm import RLM; RLM('a -> b'); print('litellm' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.split() == ["False"]
