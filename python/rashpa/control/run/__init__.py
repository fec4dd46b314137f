# SPDX-License-Identifier: Apache-2.0
"""Carries a run through, from the first order to closed books."""
