"""The real way to a provider: `dspy.LM("openai/...", api_base=...)` over HTTP, to a server that the test starts."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import dspy
import pytest

from dspy_rlm import RLM

FENCE = "Next.\n```python\n{}\n```".format
RESPONSE = "[[ ## response ## ]]\n{}\n\n[[ ## completed ## ]]".format
Serve = Callable[..., tuple[dspy.LM, list[dict[str, Any]]]]


class ChatCompletions(BaseHTTPRequestHandler):
    """Answers with the next reply of its script: a text, or a pair of HTTP status and error."""

    script: list[Any]
    requests: list[dict[str, Any]]

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.requests.append(request)
        reply = self.script.pop(0)
        status, body = reply if isinstance(reply, tuple) else (200, _completion(request["model"], reply))
        payload = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, *_: Any) -> None:
        """Nothing on the terminal."""


def _completion(model: str, text: str) -> dict[str, Any]:
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    servers = []

    def start(*replies: Any) -> tuple[dspy.LM, list[dict[str, Any]]]:
        handler = type("Handler", (ChatCompletions,), {"script": list(replies), "requests": []})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{server.server_address[1]}/v1"
        return dspy.LM("openai/scripted", api_base=base, api_key="x", cache=False, num_retries=0), handler.requests

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_a_run_with_sub_queries_over_http(serve):
    cell = "parts = [text[:6], text[-6:]]\nanswers = llm_query_batched(parts)\nSUBMIT(answers)"
    lm, requests = serve(FENCE("print(len(text))"), FENCE(cell), RESPONSE("yes"), RESPONSE("yes"))
    text = "secret " * 100_000
    with dspy.context(lm=lm):
        result = RLM("text -> answers: list[str]")(text=text)
    assert (result.answers, result.finish_reason) == (["yes", "yes"], "submitted")
    assert result.usage["openai/scripted"]["total_tokens"] == 4 * 110
    assert requests[1]["messages"][: len(requests[0]["messages"])] == requests[0]["messages"]
    assert max(len(json.dumps(request)) for request in requests) < 10_000


def test_a_context_that_is_full_leads_to_extraction(serve):
    full = {
        "error": {
            "message": "maximum context length",
            "type": "invalid_request_error",
            "code": "context_length_exceeded",
        }
    }
    lm, requests = serve(FENCE("print(len(text))"), (400, full), "[[ ## count ## ]]\n4\n\n[[ ## completed ## ]]")
    with dspy.context(lm=lm):
        result = RLM("text -> count: int")(text="four")
    assert (result.count, result.finish_reason, len(requests)) == (4, "context_window", 3)


def test_a_provider_that_refuses_reaches_the_caller_with_what_was_done(serve):
    denied = {"error": {"message": "bad key", "type": "invalid_request_error", "code": "invalid_api_key"}}
    lm, _ = serve(FENCE("print(len(text))"), (401, denied))
    with dspy.context(lm=lm), pytest.raises(dspy.LMError, match="bad key") as caught:
        RLM("text -> count: int")(text="four")
    assert [step.output for step in caught.value.trajectory] == ["4"]
