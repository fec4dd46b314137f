# SPDX-License-Identifier: Apache-2.0
"""Says where pixels lie, in images and in the laboratory."""
