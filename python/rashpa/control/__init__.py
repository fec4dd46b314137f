# SPDX-License-Identifier: Apache-2.0
"""Implements the control plane: run files, plans, telegrams, states and the manager. It needs no compiled code."""
