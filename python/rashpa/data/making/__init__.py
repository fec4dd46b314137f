# SPDX-License-Identifier: Apache-2.0
"""Makes files of stored runs: conversions, repairs and checks."""
