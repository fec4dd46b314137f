# SPDX-License-Identifier: Apache-2.0
"""Makes a plan of a run file: the way of each pixel, and the task of each node."""
