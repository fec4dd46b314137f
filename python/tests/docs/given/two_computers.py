# SPDX-License-Identifier: Apache-2.0
"""Both computers are this one: its network has their addresses, and the MTU of an Ethernet."""

import subprocess

for address in ("10.0.0.1", "10.0.0.2"):
    subprocess.run(["ip", "address", "add", f"{address}/24", "dev", "lo"], check=True)
subprocess.run(["ip", "link", "set", "lo", "mtu", "1500"], check=True)
