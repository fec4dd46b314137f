# SPDX-License-Identifier: Apache-2.0
"""Makes the boot image of the virtual machine: Debian's kernel, and an initramfs of this machine's programs and ours.

The kernel package is downloaded and unpacked below build/vm, and never installed. This module writes the initramfs itself (format "newc"), so that
neither cpio nor root is needed. It is made again for each machine, in less than a second.
"""

import lzma
import os
import re
import shutil
import stat
import subprocess
import urllib.parse
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

# Found through the crypto layer, not by symbol; kernels from 6.16 on compute it by themselves.
MODULE_EXTRA = {"rdma_rxe": ["crc32_generic", "crc32-pclmul"]}


class ImageError(Exception):
    """Reports that the image cannot be made on this machine; the text names the missing part."""


@dataclass(frozen=True)
class Kernel:
    """Holds an unpacked kernel package."""

    image: Path
    modules: Path  # …/lib/modules/<version>


def unpacked_kernel(cache: Path) -> Kernel:
    """Download (once) and unpack Debian's kernel package below `cache`."""
    root = cache / "kernel"
    if not list(root.glob("boot/vmlinuz-*")):
        _download_kernel(cache, root)
    image = max(root.glob("boot/vmlinuz-*"))
    version = image.name.removeprefix("vmlinuz-")
    candidates = [path / version for path in (root / "lib/modules", root / "usr/lib/modules")]
    return Kernel(image, next(path for path in candidates if path.is_dir()))


def _download_kernel(cache: Path, root: Path) -> None:
    package = os.environ.get("RASHPA_VM_KERNEL") or _kernel_package()
    downloads = cache / "packages"
    downloads.mkdir(parents=True, exist_ok=True)
    _run(["apt-get", "download", "-qq", package], cwd=downloads)
    found = [path for path in downloads.glob("*.deb") if urllib.parse.unquote(path.name).startswith(f"{package}_")]
    unpacked = cache / "kernel.part"
    shutil.rmtree(unpacked, ignore_errors=True)
    _run(["dpkg", "-x", str(max(found)), str(unpacked)])
    unpacked.rename(root)


def _kernel_package() -> str:
    text = _run(["apt-cache", "depends", "linux-image-amd64"])
    match = re.search(r"Depends: (linux-image-\S+)", text)
    if not match:
        raise ImageError("vm: apt knows no linux-image-amd64; name the kernel package in RASHPA_VM_KERNEL")
    return match[1]


def _run(command: list[str], cwd: Path | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ImageError(f"vm: {' '.join(command)} failed: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def modules_in_order(kernel: Kernel, names: Iterable[str]) -> list[Path]:
    """Return the module files of `names` and of all their dependencies, each after its dependencies. Modules that the kernel has built in need none."""
    files = {_module_name(path): path for path in kernel.modules.rglob("*.ko*")}
    builtin = kernel.modules / "modules.builtin"
    within = {_module_name(Path(line)) for line in builtin.read_text().splitlines()} if builtin.exists() else set()
    order: dict[str, Path] = {}

    def visit(name: str) -> None:
        key = name.replace("-", "_")
        if key in order or key in within:
            return
        path = files.get(key)
        if path is None:
            raise ImageError(f"vm: kernel {kernel.modules.name} has no module {name}")
        extra = [other for other in MODULE_EXTRA.get(key, []) if other.replace("-", "_") in files]
        for needed in [*extra, *_depends(_module_bytes(path))]:
            visit(needed)
        order[key] = path

    for name in names:
        visit(name)
    return list(order.values())


def _module_name(path: Path) -> str:
    return path.name.split(".ko")[0].replace("-", "_")


def _module_bytes(path: Path) -> bytes:
    data = path.read_bytes()
    return lzma.decompress(data) if path.suffix == ".xz" else data


def _depends(module: bytes) -> list[str]:
    match = re.search(rb"\0depends=([^\0]*)\0", module)
    return match[1].decode().split(",") if match and match[1] else []


def libraries_of(programs: Iterable[Path]) -> list[Path]:
    """Return the shared libraries that `programs` load, and the dynamic linker."""
    found: dict[str, Path] = {}
    for program in programs:
        text = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False).stdout
        if missing := re.findall(r"(\S+) => not found", text):
            raise ImageError(f"vm: {program} needs {', '.join(missing)}")
        found.update((path, Path(path)) for path in re.findall(r"(/\S+) \(0x", text))
    return list(found.values())


class Initramfs:
    """Holds the files of a root file system, in the order in which they were added."""

    def __init__(self) -> None:
        self._entries: dict[str, tuple[int, bytes]] = {}

    def directory(self, path: str) -> None:
        parts = Path(path.lstrip("/")).parts
        for end in range(1, len(parts) + 1):
            self._entries.setdefault("/".join(parts[:end]), (stat.S_IFDIR | 0o755, b""))

    def text(self, path: str, content: str, mode: int = 0o644) -> None:
        self._add(path, stat.S_IFREG | mode, content.encode())

    def file(self, path: str, source: Path) -> None:
        """Add the file `source` as `path` of the machine; follow links, and decompress kernel modules."""
        content = _module_bytes(source) if ".ko" in source.name else source.read_bytes()
        self._add(path, stat.S_IFREG | stat.S_IMODE(source.stat().st_mode), content)

    def link(self, path: str, target: str) -> None:
        self._add(path, stat.S_IFLNK | 0o777, target.encode())

    def programs(self, sources: dict[str, Path]) -> None:
        """Add programs under their paths in the machine, with their libraries under the same paths as here."""
        for path, source in sources.items():
            self.file(path, source)
        for library in libraries_of(sources.values()):
            self.file(str(library), library)

    def _add(self, path: str, mode: int, content: bytes) -> None:
        self.directory(str(Path(path).parent))
        self._entries[path.lstrip("/")] = (mode, content)

    def write(self, to: Path) -> None:
        with to.open("wb") as out:
            for number, (name, (mode, content)) in enumerate([*self._entries.items(), ("TRAILER!!!", (0, b""))], 1):
                fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0)
                header = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
                out.write(header + bytes(-len(header) % 4) + content + bytes(-len(content) % 4))


def program(name: str) -> Path:
    """Return a program of this machine by name."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin:/usr/bin:/bin")
    if not found:
        raise ImageError(f"vm: no {name}: install the packages of packages-vm.txt (make test-vm does)")
    return Path(found).resolve()


def provider(name: str) -> Path:
    """Return the libibverbs provider `name`, a shared object that libibverbs loads itself."""
    for folder in ("/usr/lib/x86_64-linux-gnu/libibverbs", "/usr/lib64/libibverbs", "/usr/lib/libibverbs"):
        if found := sorted(Path(folder).glob(f"lib{name}-rdmav*.so")):
            return found[-1]
    raise ImageError(f"vm: no libibverbs provider {name}: install ibverbs-providers")
