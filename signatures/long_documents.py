"""Questions over long documents, answered with quotes."""

from __future__ import annotations

import dspy

from dspy_rlm.signatures.quotes import Quote


class AnswerWithQuotes(dspy.Signature):
    """Answer the question from the documents alone, and prove each claim of the answer with a quote.

    First look at the documents' names, lengths and headings. Find candidate passages with code: search for the
    question's rare words, their word forms and synonyms, and print each hit with a few hundred characters around it.
    If no word search can find the answer, cut the documents into pieces of about 20,000 characters that overlap a
    little, and ask llm_query_batched of each piece what it says about the question, with the words it says it in.
    Where pieces disagree, read the passages themselves. Copy quotes out of the documents by slicing, never by typing, and
    check with `in` that each one is there. If the documents do not answer the question, say so and give no quotes.
    """

    documents: dict[str, str] = dspy.InputField(desc="the texts by name")
    question: str = dspy.InputField(desc="what to find out")
    answer: str = dspy.OutputField(desc="the answer, as short as the question allows")
    quotes: list[Quote] = dspy.OutputField(desc="the passages that prove the answer; empty if there is no answer")
