# SPDX-License-Identifier: Apache-2.0
"""Parts of reading a run file: bounds of its text, older places of keys, words for refused values."""
