# SPDX-License-Identifier: Apache-2.0
"""Makes and reads the images that emulators play, and calibrations."""
