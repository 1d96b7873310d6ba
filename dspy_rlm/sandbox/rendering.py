"""Outcomes of cells as text for the model: the one place where a typed outcome becomes words."""

from __future__ import annotations

from .outcomes import CellError, Failed, Outcome, Output, Ran, Refused, RolledBack, Submitted

_ROLLED_BACK = "It was stopped and undone: all variables are as they were before this cell."


def render(outcome: Outcome) -> str:
    """What the model is told of a cell; of an accepted submission only what the cell printed.

    Args:
        outcome: What became of the cell.

    Returns:
        The text, empty when there is nothing to tell.

    Example:
        >>> print(render(RolledBack("time", 60)))
        The cell ran longer than 60 seconds. It was stopped and undone: all variables are as they were before this cell. \
Do less in one cell, or stop early.
    """
    match outcome:
        case Ran(output=output, value=value, variables=variables, restored=restored):
            shown = cut_text(value) if value else ""
            return _joined(cut_text(output), shown, _variables_text(variables), _restored_text(restored))
        case Failed(output=output, error=error, restored=restored):
            return _joined(cut_text(output), _error_text(error), _restored_text(restored))
        case Refused():
            return _refusals_text(outcome)
        case Submitted(output=output):
            return cut_text(output).rstrip("\n")
        case RolledBack():
            return _rolled_back_text(outcome)


def cut_text(output: Output) -> str:
    """Head and tail, with what was left out in between by its length."""
    if not output.tail:
        return output.head
    left_out = output.length - len(output.head) - len(output.tail)
    return f"{output.head}\n… [{left_out:,} of {output.length:,} characters cut] …\n{output.tail}"


def _joined(*parts: str) -> str:
    return "\n".join(part.rstrip("\n") for part in parts if part)


def _variables_text(variables: tuple[tuple[str, Output], ...]) -> str:
    if not variables:
        return ""
    return "\n".join(
        ["(nothing was printed; the cell set)", *(f"{name} = {cut_text(text)}" for name, text in variables)]
    )


def _restored_text(names: tuple[str, ...]) -> str:
    if not names:
        return ""
    are = "is" if len(names) == 1 else "are"
    return f"({', '.join(names)} {are} again as before this cell, as after every one: keep a value of your own under another name)"


def _error_text(error: CellError) -> str:
    return error.trace.rstrip("\n") or f"{error.kind}: {error.message}"


def _refusals_text(refused: Refused) -> str:
    opening = (
        "The cell was not run, its syntax is wrong:"
        if refused.kind == "syntax"
        else "The cell was not run, the sandbox does not admit all of it:"
    )
    lines = [opening]
    for refusal in refused.refusals:
        lines += [f"line {refusal.line}: {refusal.text}", f"  {refusal.reason}"]
    return "\n".join(lines)


def _rolled_back_text(rolled_back: RolledBack) -> str:
    match rolled_back.reason:
        case "time":
            return f"The cell ran longer than {rolled_back.limit:g} seconds. {_ROLLED_BACK} Do less in one cell, or stop early."
        case "memory":
            size = f"{rolled_back.limit / 2**30:.3g} GiB"
            return (
                f"The cell needed more memory than the {size} there are. {_ROLLED_BACK} "
                "Go through the data piece by piece, and keep only what is needed."
            )
        case "crash":
            detail = f" ({rolled_back.detail})" if rolled_back.detail else ""
            return f"The cell crashed the interpreter{detail}. {_ROLLED_BACK} Write it differently."
