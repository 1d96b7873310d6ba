"""What can be typed: commands, arguments and options. DSPy is imported only once a command needs it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from dspy_rlm._version import __version__
from dspy_rlm.cli.ask import ANSWERED, INTERRUPTED, NO_ANSWER, AskOptions, run_ask
from dspy_rlm.cli.streams import flush_streams, prepare_streams

app = typer.Typer(
    name="dspy-rlm",
    help="Typed answers over inputs far larger than a language model's context window.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run the command line and exit with its code: 0 answered, 1 no answer, 2 usage, 130 interrupted."""
    # Prices play no part here, and fetching their list makes a machine without a network wait and warn.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    prepare_streams()
    code = flush_streams(_exit_code())
    if code == INTERRUPTED:
        # Threads that wait for a model's answer would hold an ordinary exit up.
        os._exit(code)
    sys.exit(code)


def _exit_code() -> int:
    try:
        app()
    except SystemExit as ending:
        return ending.code if isinstance(ending.code, int) else NO_ANSWER
    except OSError as error:  # a stream that cannot be written
        print(f"dspy-rlm: {error}", file=sys.stderr)
        return NO_ANSWER
    return ANSWERED


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dspy-rlm {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    """Typed answers over inputs far larger than a language model's context window."""


@app.command()
def ask(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="What you want to know.", show_default=False)],
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            help="Files or folders to answer from: text of any encoding, CSV, JSON, JSONL, each also gzipped; - is "
            "standard input.",
            show_default=False,
        ),
    ],
    output: Annotated[
        str | None,
        typer.Option(help="The outputs and their types, as 'ip: str, requests: int'.", show_default="answer: str"),
    ] = None,
    signature: Annotated[
        str | None, typer.Option(metavar="MODULE:CLASS", help="A dspy.Signature of your own to answer with.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="The model: a LiteLLM name such as openai/gpt-5.4-mini, a GGUF file, or local.",
            show_default="DSPY_RLM_MODEL, else by the API key that is set, else the local model",
        ),
    ] = None,
    sub_model: Annotated[
        str | None, typer.Option(help="The model that answers sub-queries.", show_default="the same")
    ] = None,
    program: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A tuned program, as saved by RLM.save('tuned.json').")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
    max_iters: Annotated[int, typer.Option(min=1, help="Turns of the model at most.")] = 20,
    max_llm_calls: Annotated[int, typer.Option(min=0, help="Sub-queries at most.")] = 50,
) -> None:
    """Answer QUESTION over FILEs of any size.

    The model never sees the files whole: it explores them by writing Python, which runs in a sandbox.

    Exit codes: 0 answered, 1 no answer, 2 wrong usage, 130 interrupted.
    """
    options = AskOptions(
        question=question,
        files=tuple(files),
        output=output,
        signature=signature,
        model=model,
        sub_model=sub_model,
        program=program,
        json=json,
        max_iters=max_iters,
        max_llm_calls=max_llm_calls,
    )
    raise typer.Exit(run_ask(options))
