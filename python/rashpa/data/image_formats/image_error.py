# SPDX-License-Identifier: Apache-2.0
"""What is wrong with an image file."""


class ImageError(ValueError):
    """The file is damaged, or of a kind that is not read; the text says what, without the file's name."""
