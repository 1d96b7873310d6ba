"""Classification of many short texts by meaning, and the counts."""

from __future__ import annotations

import dspy


class ClassifyAndCount(dspy.Signature):
    """Give every text one of the labels, by what it means, and count.

    Read a few texts first, so that you know what the labels mean here. Words alone mislead: leave the judgement to
    llm_query_batched. Put 20 to 50 numbered texts and the list of labels into one prompt, and ask for one line "number:
    label" for each. Parse every reply with code; ask again for those that are missing or not one of the labels, in
    smaller groups. Equal texts get equal labels, so classify distinct texts only. At the end the counts must add up to
    the number of texts, and there must be one label for each text, in order.
    """

    texts: list[str] = dspy.InputField(desc="the texts to classify")
    labels: list[str] = dspy.InputField(desc="the labels to choose from")
    guideline: str = dspy.InputField(desc="what the labels mean, and what to do in doubt")
    assigned: list[str] = dspy.OutputField(desc="the label of each text, in the order of the texts")
    counts: dict[str, int] = dspy.OutputField(desc="how many texts have each label; 0 where none has")
