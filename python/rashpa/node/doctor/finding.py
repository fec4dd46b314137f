# SPDX-License-Identifier: Apache-2.0
"""Describes one finding on a machine, and reads the kernel's files that findings are based on."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

State = Literal["good", "poor", "unknown"]


@dataclass(frozen=True)
class Setting:
    """Names a file of the kernel and the text to write there to make a finding good. The setting lasts until the machine restarts."""

    path: Path
    value: str


@dataclass(frozen=True)
class Finding:
    """Describes one fact of a machine. `found` and `wanted` are values with units; `why` names the effect of a poor value. `command` corrects the
    value in a shell, `settings` do the same without one. Both are empty when nothing needs correction, or only a person can make it."""

    subject: str
    state: State
    found: str
    wanted: str = ""
    why: str = ""
    command: str = ""
    settings: tuple[Setting, ...] = ()


@dataclass(frozen=True)
class Host:
    """Reads the files of the kernel below `processes` (/proc) and `system` (/sys). Return None for a file that is absent or cannot be read."""

    processes: Path = Path("/proc")
    system: Path = Path("/sys")

    def text(self, path: Path) -> str | None:
        try:
            return path.read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            return None

    def number(self, path: Path) -> int | None:
        """Return the number at the beginning of the file, None when there is none."""
        words = (self.text(path) or "").split()
        try:
            return int(words[0]) if words else None
        except ValueError:
            return None

    def sysctl(self, name: str) -> Path:
        """Return the file of a setting by its name in sysctl(8)."""
        return self.processes / "sys" / name.replace(".", "/")

    def interface(self, name: str) -> Path:
        return self.system / "class" / "net" / name


def unknown(subject: str, reason: str) -> Finding:
    """Return the finding for a fact that this machine does not report."""
    return Finding(subject, "unknown", reason)


def count(value: int, minimum: int, host: Host, setting: str, subject: str, why: str, unit: str = "") -> Finding:
    """Return a finding that compares the value of a sysctl with the least good value."""
    words = f" {unit}" if unit else ""
    if value >= minimum:
        return Finding(subject, "good", f"{value:,}{words}", f"{minimum:,}{words} or more")
    command = f"sysctl -w {setting}={minimum}"
    settings = (Setting(host.sysctl(setting), str(minimum)),)
    return Finding(subject, "poor", f"{value:,}{words}", f"{minimum:,}{words} or more", why, command, settings)
