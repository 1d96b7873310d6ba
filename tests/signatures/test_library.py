"""The ready task signatures: what each tells, and what it takes back."""

from __future__ import annotations

from typing import Any

import dspy
import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from dspy_rlm import RLM, signatures
from dspy_rlm.testing import ScriptedLM

QUOTE = {"source": "a.txt", "text": "The sky is blue."}
DOCUMENTS = {"a.txt": "The sky\nis blue. It rained on 1 May 2024."}


class Invoice(BaseModel):
    """A bill that was sent."""

    number: str
    total: float


# What a task is given, and what a root LM may submit for it.
LIBRARY: dict[str, tuple[type[dspy.Signature], dict[str, Any], dict[str, Any]]] = {
    "answer_with_quotes": (
        signatures.AnswerWithQuotes,
        {"documents": DOCUMENTS, "question": "What colour is the sky?"},
        {"answer": "blue", "quotes": [QUOTE]},
    ),
    "find_passages": (
        signatures.FindPassages,
        {"text": "hay needle hay", "description": "no hay"},
        {"passages": [{"start": 4, "text": "needle"}]},
    ),
    "aggregate": (
        signatures.Aggregate,
        {"records": [{"price": 2}, {"price": 3.5}, {}], "question": "What is the sum of the prices?"},
        {"figures": [{"group": "all", "value": 5.5}], "skipped": 1},
    ),
    "classify_and_count": (
        signatures.ClassifyAndCount,
        {"texts": ["ouch", "yay"], "labels": ["good", "bad"], "guideline": "mood"},
        {"assigned": ["bad", "good"], "counts": {"good": 1, "bad": 1}},
    ),
    "triage_log": (
        signatures.TriageLog,
        {"log": "INFO fine\nERROR db: disk full"},
        {
            "incidents": [
                {
                    "severity": "critical",
                    "title": "The disk is full",
                    "component": "db",
                    "occurrences": 1,
                    "first_line": 2,
                    "last_line": 2,
                    "evidence": "ERROR db: disk full",
                    "likely_cause": "unknown",
                }
            ],
            "summary": "The database's disk is full.",
        },
    ),
    "answer_about_code": (
        signatures.AnswerAboutCode,
        {"files": {"a.py": "x = 1\n  y = 2"}, "question": "What is y?"},
        {"answer": "2", "references": [{"path": "a.py", "line": 2, "code": "y = 2"}]},
    ),
    "extraction_of": (
        signatures.extraction_of(Invoice),
        {"text": "Invoice 7 of 12.50 Euro"},
        {"records": [{"number": "7", "total": 12.5}]},
    ),
    "find_related_pairs": (
        signatures.FindRelatedPairs,
        {"entities": ["sky", "blue"], "documents": DOCUMENTS, "relation": "the subject has the colour object"},
        {"pairs": [{"subject": "sky", "object": "blue", "evidence": QUOTE}]},
    ),
    "build_timeline": (
        signatures.BuildTimeline,
        {"documents": DOCUMENTS, "subject": "the weather"},
        {"events": [{"date": "2024-05-01", "precision": "day", "event": "It rained.", "evidence": QUOTE}]},
    ),
    "summarize_with_quotes": (
        signatures.SummarizeWithQuotes,
        {"documents": DOCUMENTS, "focus": "the sky, in one sentence"},
        {"summary": "It is blue.", "key_points": [{"point": "It is blue.", "evidence": QUOTE}]},
    ),
}

every_task = pytest.mark.parametrize(("task", "inputs", "outputs"), LIBRARY.values(), ids=LIBRARY)


def test_the_library_has_every_exported_task() -> None:
    exported = {getattr(signatures, name) for name in signatures.__all__}
    tasks = {kind for kind in exported if isinstance(kind, type) and issubclass(kind, dspy.Signature)}
    own = {signatures.Act, signatures.Query, signatures.Turn}
    assert tasks - own == {task for task, _, _ in LIBRARY.values() if task.__name__ != "ExtractInvoice"}


@every_task
def test_instructions_advise_and_every_field_is_described(
    task: type[dspy.Signature], inputs: dict[str, Any], outputs: dict[str, Any]
) -> None:
    assert len(task.instructions) > 300
    assert "SUBMIT" not in task.instructions  # the contract, which observations tell
    for name, field in {**task.input_fields, **task.output_fields}.items():
        assert field.json_schema_extra["desc"] != f"${{{name}}}"


@every_task
def test_the_models_describe_every_field(
    task: type[dspy.Signature], inputs: dict[str, Any], outputs: dict[str, Any]
) -> None:
    for field in task.output_fields.values():
        schema = TypeAdapter(field.annotation).json_schema()
        for name, model in schema.get("$defs", {}).items():
            undescribed = [key for key, value in model["properties"].items() if "description" not in value]
            assert name == "Invoice" or not undescribed


@every_task
def test_outputs_survive_the_way_through_json(
    task: type[dspy.Signature], inputs: dict[str, Any], outputs: dict[str, Any]
) -> None:
    for name, field in task.output_fields.items():
        adapter = TypeAdapter(field.annotation)
        value = adapter.validate_python(outputs[name])
        assert adapter.validate_json(adapter.dump_json(value)) == value


@every_task
def test_an_rlm_takes_a_submission_and_gives_typed_outputs(
    task: type[dspy.Signature], inputs: dict[str, Any], outputs: dict[str, Any]
) -> None:
    lm = ScriptedLM([f"```python\nSUBMIT(**{outputs!r})\n```"])
    with dspy.context(lm=lm):
        result = RLM(task, max_iters=2)(**inputs)
    assert result.finish_reason == "submitted"
    for name, field in task.output_fields.items():
        assert result[name] == TypeAdapter(field.annotation).validate_python(outputs[name])


@every_task
def test_it_works_with_a_plain_predictor(
    task: type[dspy.Signature], inputs: dict[str, Any], outputs: dict[str, Any]
) -> None:
    reply = TypeAdapter(dict[str, Any]).dump_json(outputs).decode()
    with dspy.context(lm=ScriptedLM([reply]), adapter=dspy.JSONAdapter()):
        result = dspy.Predict(task)(**inputs)
    assert set(result.keys()) == set(outputs)


def test_a_quote_is_found_across_line_breaks_and_not_elsewhere() -> None:
    quote = signatures.Quote(**QUOTE)
    assert quote.is_in(DOCUMENTS["a.txt"])
    assert not quote.is_in("The sky is grey.")
    assert signatures.unsupported([quote], DOCUMENTS) == []
    assert signatures.unsupported([quote], {"b.txt": DOCUMENTS["a.txt"]}) == [quote]


def test_a_passage_stands_at_its_place_only() -> None:
    text = "hay needle hay"
    assert signatures.Passage(start=4, text="needle").is_in(text)
    assert not signatures.Passage(start=5, text="needle").is_in(text)


@pytest.mark.parametrize(
    ("path", "line", "code", "found"),
    [("a.py", 2, "y = 2", True), ("a.py", 1, "y = 2", False), ("a.py", 3, "y = 2", False), ("b.py", 2, "y = 2", False)],
)
def test_a_reference_to_code_stands_on_its_line_only(path: str, line: int, code: str, found: bool) -> None:
    reference = signatures.CodeReference(path=path, line=line, code=code)
    assert reference.is_in({"a.py": "x = 1\n  y = 2"}) is found


def test_an_empty_quote_proves_nothing_and_is_refused() -> None:
    with pytest.raises(ValidationError, match="at least 1 character"):
        signatures.Quote(source="a.txt", text="")


def test_an_extraction_is_named_after_its_model_and_tells_what_a_record_is() -> None:
    assert signatures.extraction_of(Invoice).__name__ == "ExtractInvoice"
    assert "every Invoice (A bill that was sent.) that" in signatures.extraction_of(Invoice).instructions
    assert "every unpaid bill that" in signatures.extraction_of(Invoice, of="unpaid bill").instructions


def test_an_extraction_needs_a_pydantic_model() -> None:
    with pytest.raises(TypeError, match="takes a pydantic model class, got <class 'dict'>"):
        signatures.extraction_of(dict)  # type: ignore[arg-type]
