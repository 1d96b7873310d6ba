"""Needle search: the few places in a huge text that fit a description."""

from __future__ import annotations

import dspy
from pydantic import BaseModel, Field


class Passage(BaseModel):
    """A place in a text."""

    start: int = Field(ge=0, description="offset of its first character in the text")
    text: str = Field(min_length=1, description="the passage, exactly text[start:start + len(passage)]")

    def is_in(self, text: str) -> bool:
        """Whether the passage stands at its place.

        Args:
            text: The whole text that was searched.
        """
        return text.startswith(self.text, self.start)


class FindPassages(dspy.Signature):
    """Find every passage of the text that fits the description.

    Begin with code, cheapest first: literal strings, then regular expressions with re.IGNORECASE and re.finditer, then
    lines or paragraphs that are unlike the rest (rare words, other length, other alphabet). Count the hits before
    printing any, and print each with its offset and the text around it. A description by meaning may share no word with
    the passage: then cut the text into overlapping pieces, ask llm_query_batched of each whether it holds such a passage
    and which words it begins with, and locate these words with text.find. Ignore a passage that merely talks about
    the thing looked for. Take each passage out of the text by slicing.
    """

    text: str = dspy.InputField(desc="the text to search")
    description: str = dspy.InputField(desc="what a passage must be or say")
    passages: list[Passage] = dspy.OutputField(
        desc="every fitting passage, in the order of the text; empty if none fits"
    )
