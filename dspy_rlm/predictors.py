"""The predictors of an RLM, and whole trajectories as their demos."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

import dspy
from dspy.utils.exceptions import AdapterParseError
from pydantic import ValidationError

from dspy_rlm.observation import status_line
from dspy_rlm.signatures.rlm import Turn
from dspy_rlm.trajectory import Step, Trajectory

Message = dict[str, str]


def is_own_demo(predictor: dspy.Predict, demo: Mapping[str, Any]) -> bool:
    """Whether a demo has an input and an output of this predictor.

    `LabeledFewShot` and the teacher of `BootstrapFewShot` put the raw training examples, whole inputs and all, on every
    predictor of a program; those are not demos of its parts.
    """
    signature = predictor.signature
    return any(name in demo for name in signature.input_fields) and any(
        name in demo for name in signature.output_fields
    )


class OwnDemosPredict(dspy.Predict):
    """A `dspy.Predict` that neither uses nor saves demos that are not its own.

    Args:
        signature: As for `dspy.Predict`.
        **config: As for `dspy.Predict`.
    """

    def dump_state(self, json_mode: bool = True) -> dict[str, Any]:
        """The state to save, without demos of others."""
        state: dict[str, Any] = without_foreign_demos(self, lambda: super(OwnDemosPredict, self).dump_state(json_mode))
        return state

    def _forward_preprocess(self, **kwargs: Any) -> Any:
        lm, config, signature, demos, inputs = super()._forward_preprocess(**kwargs)
        return lm, config, signature, [demo for demo in demos if is_own_demo(self, demo)], inputs


class TextPredict(OwnDemosPredict):
    """An `OwnDemosPredict` that takes a reply which does not follow the adapter's format as its one text output.

    Args:
        signature: As for `dspy.Predict`.
        **config: As for `dspy.Predict`.
    """

    def forward(self, **kwargs: Any) -> dspy.Prediction:
        """As `dspy.Predict`, with one LM call whatever the reply looks like."""
        with dspy.context(adapter=_lenient_adapter(self.signature)):
            return super().forward(**kwargs)

    async def aforward(self, **kwargs: Any) -> dspy.Prediction:
        """Likewise."""
        with dspy.context(adapter=_lenient_adapter(self.signature)):
            return await super().aforward(**kwargs)


def _lenient_adapter(signature: type[dspy.Signature]) -> dspy.Adapter:
    if [field.annotation for field in signature.output_fields.values()] != [str]:
        return dspy.settings.adapter or dspy.ChatAdapter()
    adapter = turn_adapter()
    parse = adapter.parse

    def parse_or_take_whole(signature: type[dspy.Signature], completion: str) -> dict[str, Any]:
        try:
            return dict(parse(signature, completion))
        except AdapterParseError:
            if not completion.strip():
                raise
            return dict.fromkeys(signature.output_fields, completion.strip())

    adapter.parse = parse_or_take_whole
    return adapter


def without_foreign_demos(predictor: dspy.Predict, dump: Any) -> Any:
    """What `dump()` gives while `predictor` has no demos but its own."""
    demos = predictor.demos
    predictor.demos = [demo for demo in demos if is_own_demo(predictor, demo)]
    try:
        return dump()
    finally:
        predictor.demos = demos


def turn_predictor(act: dspy.Predict) -> dspy.Predict:
    """The predictor that writes one cell: `act`'s instructions, LM and settings, for a turn of the chat.

    It is made anew for each run and is no attribute of the program, so optimizers see `act` alone.
    """
    predictor = dspy.Predict(Turn.with_instructions(act.signature.instructions), **act.config)
    predictor.lm = act.lm
    return predictor


def turn_adapter() -> dspy.Adapter:
    """The adapter in force, without its second LM call for a reply it cannot parse: the loop reads that reply itself."""
    adapter = copy.copy(dspy.settings.adapter or dspy.ChatAdapter())
    if getattr(adapter, "use_json_adapter_fallback", False):
        adapter.use_json_adapter_fallback = False
    return adapter


def turn_message(observation: str, step: Step) -> Message:
    """A past turn as the chat shows it: what the root LM saw, and what it wrote."""
    return {"observation": observation, "reasoning": step.reasoning, "code": f"```python\n{step.code}\n```"}


def demo_messages(demos: Iterable[Mapping[str, Any]], max_iters: int, submit: str) -> list[Message]:
    """The turns of every demo that is a trajectory, as a chat that went before this one.

    Args:
        demos: The demos of `act`.
        max_iters: Turns of a run, for the last line of each observation.
        submit: How to submit, likewise.
    """
    messages: list[Message] = []
    for demo in demos:
        trajectory = _trajectory(demo)
        observation = demo.get("variables")
        if trajectory is None or not isinstance(observation, str):
            continue
        turns = max(max_iters, len(trajectory))
        failed = False
        for number, step in enumerate(trajectory, 1):
            status = status_line(number, turns, submit, failed=failed)
            messages.append(turn_message(f"{observation}\n\n{status}", step))
            observation, failed = step.output, step.error is not None
    return messages


def record_act(act: dspy.Predict, variables: str, trajectory: Trajectory) -> None:
    """Put the run's one entry of `act` into DSPy's trace: a task went in, a whole trajectory came out."""
    trace = dspy.settings.trace
    if trace is None or dspy.settings.max_trace_size <= 0:
        return
    if len(trace) >= dspy.settings.max_trace_size:
        trace.pop(0)
    trace.append((act, {"variables": variables}, dspy.Prediction(trajectory=trajectory.lean())))


def _trajectory(demo: Mapping[str, Any]) -> Trajectory | None:
    try:
        return Trajectory.model_validate(demo.get("trajectory"))
    except ValidationError:
        return None
