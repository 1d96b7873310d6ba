"""Use the installed package where nothing else is: imports, a cell in the sandbox, a whole run, and the command."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import dspy

import dspy_rlm
import dspy_rlm.cli
import dspy_rlm.local
import dspy_rlm.optimizers
import dspy_rlm.signatures
from dspy_rlm.testing import ScriptedLM


def main() -> None:
    """Fail where the installed package does."""
    home = Path(dspy_rlm.__file__).parent
    assert Path(sys.prefix) in home.parents, f"{home} is not the installed package"
    assert (home / "py.typed").is_file()
    assert importlib.metadata.version("dspy-rlm") == dspy_rlm.__version__
    assert importlib.util.find_spec("signatures") is None, "`signatures` landed at the top of site-packages"
    assert importlib.util.find_spec("optimizers") is None, "`optimizers` landed at the top of site-packages"
    for module in (dspy_rlm, dspy_rlm.signatures):
        for name in module.__all__:
            getattr(module, name)
    with dspy.context(lm=ScriptedLM(["```python\nSUBMIT(len(text.split()))\n```"])):
        assert dspy_rlm.RLM("text -> words: int")(text="to be or not to be").words == 6
    command = shutil.which("dspy-rlm", path=str(Path(sys.prefix) / "bin"))
    assert command, "the command dspy-rlm is not installed"
    subprocess.run([command, "ask", "--help"], check=True, stdout=subprocess.DEVNULL)
    print("dspy-rlm", dspy_rlm.__version__, "works in", sys.prefix)


if __name__ == "__main__":
    main()
