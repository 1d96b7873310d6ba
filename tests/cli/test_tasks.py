import sys
from datetime import date
from pathlib import Path
from typing import Any

import dspy
import pytest
import typer
from pydantic import BaseModel

from dspy_rlm.cli.inputs import Document, Documents
from dspy_rlm.cli.tasks import default_task, load_signature, own_task


class Row(BaseModel):
    day: date


TEXT = Documents((Document("a.txt", "A"),))
JSON = Documents((Document("a.json", '[{"day": "2026-01-02"}]', "json"),))
TWO = Documents((Document("a.txt", "A"), Document("b.txt", "B")))
FOLDER = Documents((Document("a.py", "A"),), from_folder=True)


def fail(text: str) -> None:
    raise AssertionError(f"unexpected notice: {text}")


def own(signature: str, documents: Documents, **types: Any) -> dict[str, Any]:
    return dict(own_task(dspy.Signature(signature, custom_types=types), "Q?", documents, fail).inputs)


@pytest.mark.parametrize(
    ("documents", "kind", "value"),
    [
        (TEXT, str, "A"),
        (Documents((Document("a.txt", Path("a.txt")),)), str, Path("a.txt")),
        (JSON, list, [{"day": "2026-01-02"}]),
        (TWO, dict, {"a.txt": "A", "b.txt": "B"}),
        (FOLDER, dict[str, str], {"a.py": "A"}),
    ],
)
def test_the_built_signature_has_the_type_of_what_was_named(documents: Documents, kind: Any, value: Any) -> None:
    task = default_task("Q?", documents, {"ip": str, "requests": int}, fail)
    assert task.inputs == {"context": value, "question": "Q?"}
    assert {name: field.annotation for name, field in task.signature.input_fields.items()} == {
        "context": kind,
        "question": str,
    }
    assert {n: field.annotation for n, field in task.signature.output_fields.items()} == {"ip": str, "requests": int}


def test_the_question_goes_to_the_input_of_that_name() -> None:
    assert own("log, question -> answer", TEXT) == {"question": "Q?", "log": "A"}
    assert own("query, log -> answer", TEXT) == {"query": "Q?", "log": "A"}


def test_a_signature_without_a_question_gets_one() -> None:
    task = own_task(dspy.Signature("log -> answer"), "Q?", TEXT, fail)
    assert task.inputs == {"question": "Q?", "log": "A"}
    assert list(task.signature.input_fields) == ["log", "question"]


def test_an_input_of_text_gets_text_whatever_the_file() -> None:
    assert own("log: str -> answer", JSON)["log"] == '[{"day": "2026-01-02"}]'
    assert own("log: str -> answer", TWO)["log"] == "=== a.txt ===\nA\n\n=== b.txt ===\nB"


def test_data_are_made_the_types_of_the_input() -> None:
    assert own("rows: list[Row] -> answer", JSON, Row=Row)["rows"] == [Row(day=date(2026, 1, 2))]


def test_files_fit_inputs_by_path_and_as_a_list() -> None:
    assert own("files: dict[str, str] -> answer", TEXT)["files"] == {"a.txt": "A"}
    assert own("texts: list[str] -> answer", TWO)["texts"] == ["A", "B"]
    assert own("texts: list[str] -> answer", FOLDER)["texts"] == ["A"]


def test_several_inputs_get_a_file_each_in_order() -> None:
    assert own("old, new, question -> answer", TWO) == {"question": "Q?", "old": "A", "new": "B"}


@pytest.mark.parametrize(
    ("signature", "documents", "why"),
    [
        ("old, new -> answer", TEXT, "the signature has the inputs old, new: name one FILE for each"),
        ("question -> answer", TEXT, "has no input for the files"),
        ("rows: list[int] -> answer", JSON, "does not fit the input 'rows'"),
    ],
)
def test_files_that_do_not_fit_the_signature_are_refused(signature: str, documents: Documents, why: str) -> None:
    with pytest.raises(typer.BadParameter, match=why):
        own(signature, documents)


def test_a_signature_is_found_in_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    source = (
        "import dspy\nclass Mine(dspy.Signature):\n    log: str = dspy.InputField()\n    n: int = dspy.OutputField()\n"
    )
    (tmp_path / "mine_for_test.py").write_text(source)
    assert list(load_signature("mine_for_test:Mine").output_fields) == ["n"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("nocolon", "must be MODULE:CLASS"),
        ("no_such_module_here:X", "importing 'no_such_module_here' failed: ModuleNotFoundError"),
        ("json:Nothing", "has no 'Nothing'"),
        ("json:JSONDecoder", "is not a dspy.Signature"),
    ],
)
def test_what_names_no_signature_is_refused(text: str, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    with pytest.raises(typer.BadParameter, match=why):
        load_signature(text)
