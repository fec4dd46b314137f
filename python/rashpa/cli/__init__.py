# SPDX-License-Identifier: Apache-2.0
"""The command `rashpa`: one file per command."""
