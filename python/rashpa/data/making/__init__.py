# SPDX-License-Identifier: Apache-2.0
"""Converts, repairs and checks stored runs."""
