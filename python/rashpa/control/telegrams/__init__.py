# SPDX-License-Identifier: Apache-2.0
"""Defines the telegrams between manager and nodes, as Python objects and as XML."""
