"""Teleprompters, metrics and feedback that know what a trajectory is. None is here yet.

An `RLM` is an ordinary DSPy program, so DSPy's own optimizers already take it as it is: its root predictor maps a task to
a whole trajectory, and `named_predictors()` lists that predictor and every sub-module.
"""
