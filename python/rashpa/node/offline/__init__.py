# SPDX-License-Identifier: Apache-2.0
"""Runs pipelines without a run: stored images, measurements, streams."""
