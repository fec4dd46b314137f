# SPDX-License-Identifier: Apache-2.0
"""What the sender in hardware, simulated, puts on the wire, as `rashpa packet` reads it: every field, and every byte of the images."""
