"""A question about a code base: here the `json` package of the standard library, a text for each path."""

from __future__ import annotations

import json
from pathlib import Path

import dspy
from common import chosen_lm

from dspy_rlm import RLM
from dspy_rlm.signatures import AnswerAboutCode


def main(lm: dspy.LM | None = None) -> dspy.Prediction:
    """Ask where an exception is defined, and check the references that come with the answer."""
    folder = Path(json.__file__).parent
    files = {path.name: path.read_text() for path in sorted(folder.glob("*.py"))}
    with dspy.context(lm=lm or chosen_lm()):
        result = RLM(AnswerAboutCode, max_iters=8, verbose=True)(
            files=files, question="In which file is the class JSONDecodeError defined, and what does it extend?"
        )
    print(result.answer)
    for reference in result.references:
        mark = "found" if reference.is_in(files) else "NOT FOUND"
        print(f"  {reference.path}:{reference.line}: {reference.code}   [{mark}]")
    return result


if __name__ == "__main__":
    main()
