"""Extraction: all records of one kind out of a text, each a pydantic model."""

from __future__ import annotations

from typing import Any

import dspy
from pydantic import BaseModel

STRATEGY = """\
Extract every {name} that the text holds, each once.

Find out first how the text presents them: print its beginning, and some places in the middle and near the end. If they \
follow a pattern, parse all of them with code, and print those that did not parse. If they stand in prose, cut the \
text at paragraphs into overlapping pieces, and ask llm_query_batched to list those of each piece as JSON with exactly \
the wanted keys; read the replies with json.loads, and ask again where that fails. Copy values as they are written, turn \
them into the wanted types with code, and leave empty what the text does not tell: never guess. Remove \
duplicates that overlapping pieces and repeated mentions bring, and compare the number of records with what a plain \
search lets you expect."""


def extraction_of(model: type[BaseModel], *, of: str | None = None) -> type[dspy.Signature]:
    """A signature that extracts all records of one kind: `text -> records: list[model]`.

    Args:
        model: What one record is. Its field descriptions and constraints tell the LM what is wanted.
        of: What one record is called in the instructions. Default: the model's docstring, else its name.

    Returns:
        A signature for `RLM`; its instructions can be replaced by `with_instructions`.

    Raises:
        TypeError: `model` is not a pydantic model class.

    Example:
        >>> class Invoice(BaseModel):
        ...     number: str
        ...     total: float
        >>> extraction_of(Invoice).output_fields["records"].annotation == list[Invoice]
        True
    """
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        raise TypeError(f"extraction_of takes a pydantic model class, got {model!r}")
    described = f"{model.__name__} ({model.__doc__.strip()})" if model.__doc__ else model.__name__
    fields: dict[str, Any] = {
        "text": (str, dspy.InputField(desc="the text that holds the records")),
        "records": (list[model], dspy.OutputField(desc="the records, in the order of the text")),  # type: ignore[valid-type]
    }
    made: type[dspy.Signature] = dspy.Signature(
        fields, STRATEGY.format(name=of or described), f"Extract{model.__name__}"
    )
    return made
