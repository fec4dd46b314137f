# SPDX-License-Identifier: Apache-2.0
"""The NUMA node on which a node sets its engine up."""
