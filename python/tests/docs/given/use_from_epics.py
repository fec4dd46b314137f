# SPDX-License-Identifier: Apache-2.0
"""A network without broadcasts."""

import os

os.environ |= {"EPICS_PVA_ADDR_LIST": "127.0.0.1", "EPICS_PVA_AUTO_ADDR_LIST": "NO"}
