"""The packaged model itself, where it is installed: seconds to minutes a test, so few of them."""

import gzip
import os
from pathlib import Path

import dspy
import pytest

from dspy_rlm import RLM
from dspy_rlm.local import local_lm
from dspy_rlm.local.engine import is_installed
from dspy_rlm.local.weights import joined_weights

AIRPORTS = Path(__file__).parents[2] / "examples" / "data" / "airports.csv.gz"

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


@pytest.mark.timeout(600)
def test_a_run_against_its_http_server() -> None:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(joined_weights())
    params.n_ctx, params.n_parallel, params.verbosity = 8192, 1, -1
    params.cpuparams.n_threads = len(os.sched_getaffinity(0))
    params.hostnames, params.port = ["127.0.0.1"], 0
    server = xllamacpp.Server(params)
    lm = dspy.LM(
        "openai/qwen",
        api_base=f"{server.listening_address}/v1",
        api_key="x",
        temperature=0.0,
        max_tokens=600,
        cache=False,
    )
    table = gzip.decompress(AIRPORTS.read_bytes()).decode()
    with dspy.context(lm=lm):
        result = RLM("table, question -> country: str, airports: int", max_output_chars=1500)(
            table=table, question="Which country code has the most airports, and how many does it have?"
        )
    assert (result.country, result.airports, result.finish_reason) == ("US", 12_579, "submitted")
