"""hatchling's hook: compiles the kernels before a wheel is packed, and in the checkout for an editable install."""

import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LIBRARY = "kafkafs/format/native/_kernels.so"

# kafkafs asks for its own version when imported, and is not installed yet: only its directories count here.
BUILD = """
import runpy, sys, types
package = sys.modules["kafkafs"] = types.ModuleType("kafkafs")
package.__path__ = [sys.argv[1] + "/kafkafs"]
runpy.run_module("kafkafs.format.native.build", run_name="__main__")
"""


class KernelsHook(BuildHookInterface[Any]):
    """The library belongs to a processor and a C library, but to no version of Python."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        subprocess.run([sys.executable, "-c", BUILD, self.root], check=True)
        if version != "editable":
            build_data["force_include"][str(Path(self.root, LIBRARY))] = LIBRARY
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"], build_data["tag"] = False, f"py3-none-{platform}"
