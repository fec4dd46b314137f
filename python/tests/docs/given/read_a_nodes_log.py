# SPDX-License-Identifier: Apache-2.0
"""A receiver at its usual port."""

import given_nodes

given_nodes.start("rashpa", "receiver", until="http://")
