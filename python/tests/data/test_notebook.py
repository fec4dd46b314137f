# SPDX-License-Identifier: Apache-2.0
import numpy as np

from rashpa.data.figures.notebook import books_html, image_html


def test_books_are_a_table_with_a_column_each_and_every_text_is_escaped() -> None:
    html = books_html("<script>a</script>", {"<b>": {"<i>": 1234567}, "frames": {"<i>": 2}}, ["x < y", "", "end"])
    assert html == (
        "<p><b>&lt;script&gt;a&lt;/script&gt;</b></p><p>x &lt; y</p><p>end</p><table><tr><th></th><th>&lt;b&gt;</th><th>frames</th></tr>"
        "<tr><td>&lt;i&gt;</td><td>1,234,567</td><td>2</td></tr></table>"
    )
    assert books_html("none", {}) == "<p><b>none</b></p><table><tr><th></th></tr></table>"


def test_an_image_is_a_picture_with_its_description_escaped() -> None:
    html = image_html(np.arange(12, dtype=np.uint16).reshape(3, 4), 'frame "3" <now>')
    said = "frame &#34;3&#34; &lt;now&gt;"
    assert html.startswith(f'<figure><img alt="{said}" src="data:image/png;base64,')
    assert html.endswith(f'"><figcaption>{said}</figcaption></figure>')
