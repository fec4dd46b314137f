# SPDX-License-Identifier: Apache-2.0
"""The control plane: run files, plans, telegrams, states and the manager. Nothing here needs compiled code."""
