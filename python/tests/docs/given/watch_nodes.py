# SPDX-License-Identifier: Apache-2.0
"""Nodes at their usual ports."""

import given_nodes

given_nodes.start("rashpa", "receiver", until="http://")
given_nodes.start("rashpa", "emulator", until="http://")
