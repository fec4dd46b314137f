# SPDX-License-Identifier: Apache-2.0
"""Receives images and decisions while a run goes on."""
