# SPDX-License-Identifier: Apache-2.0
"""Inspects the clock of this machine: whether a service synchronises it, and the error that the kernel estimates."""

import ctypes
from collections.abc import Iterator

from rashpa.node.doctor.finding import Finding, Host, unknown

_UNSYNCHRONISED = 0x40  # STA_UNSYNC
_ERROR = 5  # TIME_ERROR
_BYTES = 208  # of struct timex
_WORST_US = 1_000


def clock_findings(host: Host) -> Iterator[Finding]:
    """Yield findings on the clock, from which runs and nodes take their times."""
    yield _kept()
    if cards := sorted(path.name for path in (host.system / "class" / "ptp").glob("ptp*")):
        yield Finding("clocks of cards (PTP)", "good", ", ".join(cards))


class _Timex(ctypes.Structure):
    """Declares the first fields of the kernel's struct timex."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("rest", ctypes.c_char * _BYTES),
    )


def _kept() -> Finding:
    subject = "clock"
    told = _Timex()
    try:
        state = ctypes.CDLL(None, use_errno=True).adjtimex(ctypes.byref(told))
    except (OSError, AttributeError):
        return unknown(subject, "the kernel does not tell")
    if state == _ERROR or told.status & _UNSYNCHRONISED:
        why = "times of frames, logs and files of several machines cannot be compared"
        return Finding(
            subject,
            "poor",
            "nothing keeps it",
            "kept by NTP or PTP",
            why,
            "systemctl enable --now chrony (or ptp4l and phc2sys)",
        )
    if told.maxerror > _WORST_US:
        return Finding(subject, "good", f"kept; at most {told.maxerror / 1e3:.1f} ms off", "kept by NTP or PTP")
    return Finding(subject, "good", f"kept; at most {told.maxerror} µs off", "kept by NTP or PTP")
