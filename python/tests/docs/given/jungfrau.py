# SPDX-License-Identifier: Apache-2.0
"""Frames of a JUNGFRAU."""

RUN = {"dataset": {"kind": "jungfrau", "modules": 1, "frames": 20}}
