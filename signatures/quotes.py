"""Quotes: what lets a reader, or a metric, check an answer against its sources."""

from __future__ import annotations

from pydantic import BaseModel, Field


class Quote(BaseModel):
    """A passage copied word for word, and where it stands."""

    source: str = Field(description="the name of the document it stands in, exactly as given")
    text: str = Field(min_length=1, description="the passage, copied word for word; one to three sentences")

    def is_in(self, document: str) -> bool:
        """Whether the document holds the passage, word for word; line breaks and runs of spaces count as one space.

        Args:
            document: The whole text of `source`.
        """
        return " ".join(self.text.split()) in " ".join(document.split())


def unsupported(quotes: list[Quote], documents: dict[str, str]) -> list[Quote]:
    """The quotes that their source does not hold: for a metric, or before an answer is shown.

    Args:
        quotes: What an answer rests on.
        documents: Texts by name.

    Example:
        >>> made_up = Quote(source="a.txt", text="the sky is green")
        >>> unsupported([made_up], {"a.txt": "The sky is blue."}) == [made_up]
        True
    """
    return [quote for quote in quotes if not quote.is_in(documents.get(quote.source, ""))]
