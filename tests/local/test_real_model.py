"""The packaged model itself, where it is installed: seconds a test, so few of them."""

import dspy
import pytest

from dspy_rlm.local import local_lm
from dspy_rlm.local.engine import is_installed

pytestmark = [
    pytest.mark.local_lm,
    pytest.mark.skipif(not is_installed(), reason="the extra `local` is not installed"),
]


def test_it_answers_and_reads_a_repeated_beginning_from_its_cache() -> None:
    lm = local_lm(context_length=2048, max_tokens=8, cache=False)
    prompt = "Reply with the single word: yes. " + "Nothing else. " * 20
    assert "yes" in lm(prompt)[0].lower()
    lm(prompt + "Really.")
    usage = lm.history[-1]["usage"]
    assert usage["prompt_tokens_details"]["cached_tokens"] > usage["prompt_tokens"] // 2


def test_a_prompt_beyond_its_context_is_refused() -> None:
    with pytest.raises(dspy.ContextWindowExceededError, match="the local model's context 2048"):
        local_lm(context_length=2048, cache=False)("word " * 3000)
