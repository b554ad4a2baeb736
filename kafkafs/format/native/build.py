"""Compiles the kernels into one shared library: `python -m kafkafs.format.native.build`.

numba turns each kernel into LLVM's language, LLVM into an object for any x86-64 processor of the last fifteen years
(level v2; the plain baseline elsewhere), and the C compiler's linker into `_kernels.so`. The library needs
nothing of Python or numba: a mount loads it by ctypes. Run by scripts/setup and when a wheel is made.
"""

import importlib
import inspect
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kafkafs.format.native.library import LIBRARY, layers, linked, source_stamp

if __name__ == "__main__":  # numba optimises for one processor: the library's, not this machine's
    import platform

    os.environ["NUMBA_CPU_NAME"] = "x86-64-v2" if platform.machine() == "x86_64" else "generic"
    os.environ["NUMBA_CPU_FEATURES"] = ""
    os.environ["NUMBA_OPT"] = "0"  # `_object` optimises, once

import llvmlite.binding as llvm
from numba import cfunc, types


def kernels() -> list[Callable[..., int]]:
    """The entries of the library: those of all layers, by their place. `format` imports no layer above it elsewhere."""
    found = [importlib.import_module(f"kafkafs.{layer}.native.kernels").KERNELS for layer in layers()]
    return [kernel for each in found for kernel in each]


def compiled(kernel: Callable[..., int]) -> Any:
    """The kernel as numba's C function: int64 arguments, int64 result."""
    arity = len(inspect.signature(kernel).parameters)
    return cfunc(types.int64(*[types.int64] * arity), error_model="numpy")(kernel)


def _exported(kernel: Callable[..., int]) -> str:
    """LLVM's text of the kernel under its plain name.

    numba's own C entry calls Python when a kernel raises. Ours never does: the entry made here calls the compiled body
    and passes on its result, so what numba made for errors is unreachable and falls away.
    """
    made = compiled(kernel)
    arity = len(inspect.signature(kernel).parameters)
    text: str = made.inspect_llvm()
    body = made.native_name.removeprefix("cfunc.")
    parameters = ", ".join(f"i64 %a{i}" for i in range(arity))
    arguments = "".join(f", i64 %a{i}" for i in range(arity))
    return f"""{text}
define i64 @kafkafs_{kernel.__name__}({parameters}) {{
    %result = alloca i64
    %error = alloca ptr
    store i64 0, ptr %result
    %status = call i32 @{body}(ptr %result, ptr %error{arguments})
    %value = load i64, ptr %result
    ret i64 %value
}}
"""


def _manifest() -> str:
    """LLVM's text of the library's own description: the stamp of its sources, then name/arity of each kernel."""
    words = [source_stamp()]
    words += [f"{kernel.__name__}/{len(inspect.signature(kernel).parameters)}" for kernel in kernels()]
    content = " ".join(words).encode()
    return f'@kafkafs_manifest = constant [{len(content) + 1} x i8] c"{content.decode()}\\00"\n'


def _module() -> Any:
    """All kernels in one module in which only their entries and the manifest are seen from outside."""
    module = llvm.parse_assembly(_manifest())
    for kernel in kernels():
        part = llvm.parse_assembly(_exported(kernel))
        for thing in [*part.functions, *part.global_variables]:
            if not thing.is_declaration and not thing.name.startswith("kafkafs_"):
                thing.linkage = "internal"
        module.link_in(part)
    return module


def _object(module: Any) -> bytes:
    """Machine code of the module, position independent."""
    processor = os.environ.get("NUMBA_CPU_NAME", "generic")
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(cpu=processor, features="", opt=3, reloc="pic", codemodel="default")
    module.triple = target.triple
    passes = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
    passes.getModulePassManager().run(module, passes)
    made: bytes = machine.emit_object(module)
    return made


def build(library: Path = Path(LIBRARY)) -> Path:
    """Makes the library and puts it in place by a rename, so that half of one is never loaded."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    with tempfile.TemporaryDirectory(dir=library.parent, prefix=".building-") as scratch:
        made, linked = Path(scratch, "kernels.o"), Path(scratch, "kernels.so")
        made.write_bytes(_object(_module()))
        command = ["cc", "-shared", "-nostartfiles", "-Wl,-z,defs", "-Wl,-s", "-o", str(linked), str(made), "-lc"]
        subprocess.run(command, check=True)
        linked.replace(library)
    return library


if __name__ == "__main__":
    print("up to date" if linked() is not None else build(), file=sys.stderr)
