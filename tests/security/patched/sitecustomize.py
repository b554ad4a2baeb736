"""Makes the daemon of a test an attacker: its mount answers `forbidden` with what it could do from a worker thread.

Found by PYTHONPATH in tests only. `KAFKAFS_TEST_WITHOUT` names a lock to take away, to see that the other one holds,
`KAFKAFS_TEST_ABSENT` packages that are not installed.
"""

import importlib.util
import os
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

TARGETS = ("kafkafs.view.tree", "kafkafs.fuse.sandbox.landlock", "kafkafs.fuse.sandbox.syscalls")
WITHOUT = os.environ.get("KAFKAFS_TEST_WITHOUT", "")


class Patcher:
    """Patches the targets once they are imported, in whichever process that is."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if name not in TARGETS:
            return None
        sys.meta_path.remove(self)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            sys.meta_path.insert(0, self)
        assert spec is not None
        assert spec.loader is not None
        run = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            run(module)
            patch(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def patch(module: ModuleType) -> None:
    if module.__name__ == "kafkafs.fuse.sandbox.landlock":
        if WITHOUT == "landlock":
            module.__dict__["version"] = lambda: 0
        return
    if module.__name__ == "kafkafs.fuse.sandbox.syscalls":
        if WITHOUT == "filter":
            module.__dict__["refuse_all_but_reading"] = lambda **_: "no system call filter: the kernel refused it"
        return
    from kafkafs.disk.blocking import may_block
    from kafkafs.view.about import TextFile
    from kafkafs.view.made import MadeTexts
    from tests.security import forbidden

    def attack() -> bytes:
        may_block()  # on to a worker thread
        return forbidden.attempt_all()

    child = module.Root.child
    module.Root.child = lambda self, name: TextFile(attack, MadeTexts(0)) if name == "forbidden" else child(self, name)


if WITHOUT == "kernels":
    sys.modules["kafkafs.format.native._records"] = None  # type: ignore[assignment]
for absent in filter(None, os.environ.get("KAFKAFS_TEST_ABSENT", "").split(",")):
    sys.modules[absent] = None  # type: ignore[assignment]
sys.meta_path.insert(0, Patcher())
