"""Questions about a code base."""

from __future__ import annotations

import dspy
from pydantic import BaseModel, Field


class CodeReference(BaseModel):
    """A place in a code base."""

    path: str = Field(description="the file, exactly as the code base names it")
    line: int = Field(ge=1, description="the line, counted from 1")
    code: str = Field(description="the code of that line, stripped")

    def is_in(self, files: dict[str, str]) -> bool:
        """Whether this code stands at this place.

        Args:
            files: The code base, texts by path.
        """
        lines = files.get(self.path, "").splitlines()
        return self.line <= len(lines) and lines[self.line - 1].strip() == self.code.strip()


class AnswerAboutCode(dspy.Signature):
    """Answer the question about the code base, and point to the lines that show it.

    Print the paths with their sizes first, as a tree, and read what says how the parts belong together: the readme, the
    package's front door, the entry points. Search for names with regular expressions over all files, definitions
    before uses, and print hits as path:line with the line. Read a function whole before you say what it does. Follow
    calls from definition to definition with code; ast.parse tells structure exactly where the language is Python. For a
    question about the whole, let llm_query_batched sum up one file a prompt, then reason over the summaries. Code
    decides, comments and names may be wrong. Take line numbers from enumerate(text.splitlines(), 1), never from memory.
    """

    files: dict[str, str] = dspy.InputField(desc="the code base: texts by path")
    question: str = dspy.InputField(desc="what to find out")
    answer: str = dspy.OutputField(desc="the answer, for a programmer who does not know this code base")
    references: list[CodeReference] = dspy.OutputField(desc="the lines that show it, the most telling first")
