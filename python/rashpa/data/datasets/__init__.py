# SPDX-License-Identifier: Apache-2.0
"""Makes and reads datasets, which emulators play, and calibrations."""
