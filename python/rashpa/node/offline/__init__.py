# SPDX-License-Identifier: Apache-2.0
"""Runs pipelines without nodes: on stored images, for measurements, and for streams."""
