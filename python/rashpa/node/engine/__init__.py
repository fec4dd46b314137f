# SPDX-License-Identifier: Apache-2.0
"""Makes native engines from telegrams."""
