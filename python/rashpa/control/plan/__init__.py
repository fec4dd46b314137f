# SPDX-License-Identifier: Apache-2.0
"""Makes a plan from a run file: the path of each pixel, and the task of each node."""
