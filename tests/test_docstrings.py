"""The examples in docstrings do what they say."""

from __future__ import annotations

import doctest
import pkgutil
from importlib import import_module

import pytest

import dspy_rlm
import dspy_rlm.optimizers
import dspy_rlm.signatures

MODULES = sorted(
    {
        module.name
        for package in (dspy_rlm, dspy_rlm.signatures, dspy_rlm.optimizers)
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    }
    | {"dspy_rlm", "dspy_rlm.signatures", "dspy_rlm.optimizers"}
)


@pytest.mark.parametrize("name", [name for name in MODULES if not name.endswith("__main__")])
def test_the_examples_of_a_module_hold(name: str) -> None:
    failed, _ = doctest.testmod(import_module(name), optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert failed == 0
