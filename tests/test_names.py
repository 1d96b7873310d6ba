"""Names that clash are refused in the constructor, with what to rename."""

from __future__ import annotations

import dspy
import pytest

from dspy_rlm import RLM, UsageError


def lookup(key: str) -> str:
    """Look up."""
    return key


def named(name: str) -> dspy.Tool:
    return dspy.Tool(lookup, name=name)


def sub() -> dspy.Module:
    return dspy.Predict("x -> y")


CLASHES = [
    ("llm_query -> b", {}, "the input 'llm_query' clashes with the sub-module 'llm_query': rename the input"),
    (
        "llm_query_batched -> b",
        {},
        "the batched form of the sub-module 'llm_query', 'llm_query_batched': rename the input",
    ),
    ("SUBMIT -> b", {}, "the input 'SUBMIT' clashes with the sandbox's own function 'SUBMIT': rename the input"),
    ("print -> b", {}, "the input 'print' clashes with the sandbox's own function"),
    ("FINAL -> b", {}, "the input 'FINAL' clashes with the sandbox's own function"),
    ("a -> SUBMIT", {}, "the output 'SUBMIT' clashes with the sandbox's own function: rename the output"),
    ("a -> trajectory", {}, "the output 'trajectory' clashes with what every prediction of an RLM has"),
    ("a -> usage", {}, "the output 'usage' clashes"),
    ("interpreter_factory -> b", {}, "the input 'interpreter_factory' clashes with the RLM's call argument"),
    ("self -> b", {}, "the input 'self' clashes with the RLM's call argument"),
    ("a -> b", {"subs": [sub()]}, "subs must be a dict of modules by name, got list"),
    ("a -> b", {"subs": {3: sub()}}, "the sub-module name 3 is of type int, not str"),
    ("a -> b", {"sub_lm": "openai/gpt-5.4"}, "sub_lm must be a dspy.LM, got 'openai/gpt-5.4': write dspy.LM("),
    ("lookup -> b", {"tools": [lookup]}, "the input 'lookup' clashes with the tool 'lookup': rename the input"),
    ("a -> b", {"tools": [named("SUBMIT")]}, "the tool 'SUBMIT' clashes with the sandbox's own function"),
    ("a -> b", {"tools": [named("llm_query")]}, "the tool 'llm_query' clashes with the sub-module 'llm_query'"),
    ("a -> b", {"tools": [named("llm_query_batched")]}, "rename the tool"),
    ("a -> b", {"tools": [named("class")]}, "the tool name 'class' is not a Python name that can be used in a cell"),
    ("a -> b", {"tools": [named("not a name")]}, "'not a name' is not a Python name"),
    ("a -> b", {"tools": [named("__hidden")]}, "begins with two underscores"),
    ("a -> b", {"subs": {"not a name": sub()}}, "the sub-module name 'not a name' is not a Python name"),
    ("a -> b", {"subs": {"lambda": sub()}}, "the sub-module name 'lambda'"),
    ("a -> b", {"subs": {"act": sub()}}, "the sub-module 'act' clashes with the RLM's own attribute 'act'"),
    ("a -> b", {"subs": {"forward": sub()}}, "the RLM's own attribute 'forward'"),
    ("a -> b", {"subs": {"signature": sub()}}, "the RLM's own attribute 'signature'"),
    ("check -> b", {"subs": {"check": sub()}}, "the input 'check' clashes with the sub-module 'check'"),
    ("a -> b", {"subs": {"x": sub(), "x_batched": sub()}}, "'x_batched'"),
    (
        "a -> b",
        {"subs": {"lookup": sub()}, "tools": [lookup]},
        "the tool 'lookup' clashes with the sub-module 'lookup'",
    ),
]


@pytest.mark.parametrize(("signature", "arguments", "message"), CLASHES, ids=[clash[2][:45] for clash in CLASHES])
def test_a_clash_is_refused_with_what_to_rename(signature, arguments, message):
    with pytest.raises(UsageError) as caught:
        RLM(signature, **arguments)
    assert message in str(caught.value)


def test_a_keyword_as_a_field_is_refused():
    with pytest.raises(UsageError, match="the input name 'class'"):
        RLM(dspy.Signature({"class": (str, dspy.InputField()), "b": (str, dspy.OutputField())}, "Do it."))


@pytest.mark.parametrize(
    "signature", ["input -> output", "context, query -> answer", "history -> b", "code -> reasoning", "act -> extract"]
)
def test_ordinary_names_work_even_where_predictors_have_fields_of_that_name(run, cell, signature):
    names = [name.strip() for name in signature.split("->")[0].split(",")]
    output = signature.split("->")[1].strip()
    prediction, _ = run(RLM(signature), [cell(f"SUBMIT({names[0]} + '!')")], **dict.fromkeys(names, "x"))
    assert prediction[output] == "x!"
