# SPDX-License-Identifier: Apache-2.0
"""Shows plans."""
