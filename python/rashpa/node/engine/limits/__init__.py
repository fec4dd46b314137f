# SPDX-License-Identifier: Apache-2.0
"""Changes limits of vetoes while a run goes on."""
