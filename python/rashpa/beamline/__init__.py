# SPDX-License-Identifier: Apache-2.0
"""Connects runs to the control systems of beamlines: Bluesky, Tango, EPICS. Each needs extra packages, and is not imported without them."""
