# SPDX-License-Identifier: Apache-2.0
"""Makes the orders that configure nodes from a plan."""
