# SPDX-License-Identifier: Apache-2.0
"""Runs for the control systems of beamlines: Bluesky, Tango, EPICS. Each needs packages of its own, and is not imported without them."""
