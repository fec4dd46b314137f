# SPDX-License-Identifier: Apache-2.0
"""Limits of vetoes that change while a run goes on."""
