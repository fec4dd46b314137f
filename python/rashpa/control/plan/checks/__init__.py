# SPDX-License-Identifier: Apache-2.0
"""Checks of plans: contradictions that show without asking a machine."""
