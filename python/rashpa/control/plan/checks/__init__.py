# SPDX-License-Identifier: Apache-2.0
"""Checks plans for contradictions that can be found without asking a machine."""
