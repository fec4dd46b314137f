# SPDX-License-Identifier: Apache-2.0
"""Makes a plan of a run file: which pixels go where, and which node does what."""
