# SPDX-License-Identifier: Apache-2.0
"""Holds the telegrams between manager and nodes, as Python objects and as XML."""
