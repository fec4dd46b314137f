# SPDX-License-Identifier: Apache-2.0
"""Foreign image files are read correctly or refused with a reason: all readers with all formats, and all readers with all damages."""

import bz2
import gzip
import io
import random
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fabio
import numpy as np
import pytest
import zstandard
from numpy.typing import NDArray
from PIL import Image

from rashpa.data.files.image_formats.cbf import cbf_frames
from rashpa.data.files.image_formats.edf import edf_frames
from rashpa.data.files.image_formats.frames import read_frames
from rashpa.data.files.image_formats.image_error import ImageError
from rashpa.data.files.image_formats.tiff import tiff_frames
from rashpa.testing.image_files import edf, tiff

H, W = 21, 37
RANDOM = np.random.default_rng(5)
U2 = RANDOM.integers(0, 60000, (H, W)).astype("<u2")
I4 = RANDOM.integers(-3, 200000, (H, W)).astype("<i4")
F4 = RANDOM.normal(5, 100, (H, W)).astype("<f4")
BITS = RANDOM.integers(0, 2, (H, W)).astype("u1")


def by_pillow(image: NDArray[Any], compression: str, **options: Any) -> bytes:
    file = io.BytesIO()
    Image.fromarray(image).save(file, "TIFF", compression=compression, **options)
    return file.getvalue()


def rows(image: NDArray[Any], step: int) -> list[bytes]:
    return [image[first : first + step].tobytes() for first in range(0, len(image), step)]


def tiles(image: NDArray[Any], side: int) -> list[bytes]:
    down, across = (-(-length // side) * side for length in image.shape)
    whole = np.zeros((down, across), image.dtype)
    whole[: image.shape[0], : image.shape[1]] = image
    return [whole[y : y + side, x : x + side].tobytes() for y in range(0, down, side) for x in range(0, across, side)]


def differences(image: NDArray[Any]) -> bytes:
    return np.diff(image, axis=1, prepend=image.dtype.type(0)).astype(image.dtype).tobytes()


def float_differences(image: NDArray[Any]) -> bytes:
    planes = image.astype(">f4").view("u1").reshape(H, W, 4).transpose(0, 2, 1).reshape(H, 4 * W)
    return np.diff(planes, axis=1, prepend=np.uint8(0)).astype("u1").tobytes()


GOOD_TIFF: dict[str, tuple[bytes, NDArray[Any]]] = {
    "plain": (tiff([U2.tobytes()], U2), U2),
    "strips": (tiff(rows(U2, 4), U2, {278: 4}), U2),
    "big-endian": (tiff([I4.astype(">i4").tobytes()], I4, order=">"), I4),
    "BigTIFF": (tiff(rows(F4, 5), F4, {278: 5}, big=True), F4),
    "big-endian BigTIFF": (tiff(rows(U2.astype(">u2"), 5), U2, {278: 5}, big=True, order=">"), U2),
    "float64": (tiff([F4.astype("f8").tobytes()], F4.astype("f8")), F4.astype("f8")),
    "tiles": (tiff(tiles(U2, 16), U2, {322: 16, 323: 16}), U2),
    "tiles, deflate": (tiff([zlib.compress(t) for t in tiles(I4, 16)], I4, {322: 16, 323: 16, 259: 8}), I4),
    "deflate": (tiff([zlib.compress(r) for r in rows(U2, 4)], U2, {278: 4, 259: 8}), U2),
    "old deflate": (tiff([zlib.compress(U2.tobytes())], U2, {259: 32946}), U2),
    "zstd": (tiff([zstandard.compress(r) for r in rows(F4, 9)], F4, {278: 9, 259: 50000}), F4),
    "differences": (tiff([zlib.compress(differences(U2))], U2, {259: 8, 317: 2}), U2),
    "differences, big-endian": (tiff([zlib.compress(differences(U2.astype(">u2")))], U2, {259: 8, 317: 2}, order=">"), U2),
    "differences of signed": (tiff([zlib.compress(differences(I4))], I4, {259: 8, 317: 2}), I4),
    "differences of floats": (tiff([zlib.compress(float_differences(F4))], F4, {259: 8, 317: 3}), F4),
    "1 bit": (tiff([np.packbits(BITS, axis=1).tobytes()], BITS, {258: 1}), BITS),
    "1 bit, other way round": (
        tiff([np.packbits(BITS, axis=1, bitorder="little").tobytes()], BITS, {258: 1, 266: 2}),
        BITS,
    ),
    "1 bit by Pillow": (by_pillow(BITS.astype(bool), "raw"), BITS),
    "1 bit, PackBits": (by_pillow(BITS.astype(bool), "packbits"), BITS),
    **{f"{name} by Pillow": (by_pillow(U2, name), U2) for name in ("tiff_lzw", "packbits", "zstd", "tiff_adobe_deflate")},
    "32 bits by Pillow": (by_pillow(I4, "tiff_lzw"), I4),
    "floats by Pillow": (by_pillow(F4, "packbits"), F4),
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD_TIFF)
def test_every_kind_of_tiff_is_read(name: str) -> None:
    data, expected = GOOD_TIFF[name]
    (frame,) = tiff_frames(memoryview(data))
    np.testing.assert_array_equal(frame, expected)
    assert frame.dtype == expected.dtype.newbyteorder("=")


def test_pages_are_frames_and_previews_are_none(tmp_path: Path) -> None:
    stack = [Image.fromarray(U2 + np.uint16(number)) for number in range(3)]
    stack[0].save(tmp_path / "a.tif", save_all=True, append_images=stack[1:], compression="tiff_lzw")
    frames = list(read_frames(tmp_path / "a.tif"))
    np.testing.assert_array_equal(frames, [U2 + np.uint16(number) for number in range(3)])
    with pytest.raises(ImageError, match="no image"):
        list(tiff_frames(memoryview(tiff([U2.tobytes()], U2, {254: 1}))))


@pytest.mark.parametrize("text", ["ImageJ=1.53\nimages=3\nslices=3\n", '{"shape": [3, 21, 37]}'])
def test_images_behind_the_only_directory_are_read_too(text: str) -> None:
    stack = np.stack([U2, U2[::-1], U2[:, ::-1]])
    data = bytearray(tiff([stack.tobytes()], U2, {279: U2.nbytes, 270: [ord(one) for one in text]}))
    at = data.index(b"\x0e\x01\x04\x00")  # the description is text, of one byte a character
    place = int.from_bytes(data[at + 8 : at + 12], "little")
    data[at + 2] = 2
    data[place : place + len(text)] = text.encode()
    np.testing.assert_array_equal(list(tiff_frames(memoryview(bytes(data)))), stack)
    data[8:] = data[8 + U2.nbytes * 2 :]
    with pytest.raises(ImageError):
        list(tiff_frames(memoryview(bytes(data))))


BAD_TIFF = {
    "no TIFF": (b"II*", "begin"),
    "another": (b"\x89PNG\r\n\x1a\n" + bytes(100), "begin"),
    "absent strip": (tiff([U2.tobytes()], U2, {273: 0}), "never written"),
    "empty strip": (tiff([U2.tobytes()], U2, {279: 0}), "never written"),
    "strip outside": (tiff([U2.tobytes()], U2, {273: 1 << 20}), "copy it again"),
    "short strip": (tiff([U2.tobytes()[:-2]], U2), r"strip 0 has 1552 bytes, and its pixels need 1554"),
    "one strip of many": (tiff([U2.tobytes()], U2, {278: 4}), "places of 1 .* has 6"),
    "short deflate": (tiff([zlib.compress(U2.tobytes()[:-2])], U2, {259: 8}), "another number of bytes"),
    "long deflate": (tiff([zlib.compress(U2.tobytes() + b"x")], U2, {259: 8}), "another number of bytes"),
    "cut deflate": (tiff([zlib.compress(U2.tobytes())[:-6]], U2, {259: 8}), "end too early"),
    "deflate, wrong sum": (tiff([zlib.compress(U2.tobytes())[:-1] + b"?"], U2, {259: 8}), "damaged"),
    "bomb": (tiff([zlib.compress(bytes(1 << 24))], U2, {259: 8}), "another number"),
    "cut zstd": (tiff([zstandard.compress(U2.tobytes())[:-6]], U2, {259: 50000}), "damaged"),
    "long zstd": (tiff([zstandard.compress(U2.tobytes() + b"x")], U2, {259: 50000}), "another number"),
    "bad LZW": (tiff([b"\x80\xff\xff\xff"], U2, {259: 5}), "damaged"),
    "bad PackBits": (tiff([b"\x81\x01"], U2, {259: 32773}), "damaged"),
    "JPEG": (tiff([b"x"], U2, {259: 7}), "compressed by JPEG; none, LZW"),
    "12 bits": (tiff([U2.tobytes()], U2, {258: 12}), "12 bits"),
    "RGB": (tiff([U2.tobytes()], U2, {277: 3, 262: 2}), "RGB of 3 samples"),
    "palette": (tiff([U2.tobytes()], U2, {262: 3}), "palette"),
    "no width": (tiff([U2.tobytes()], U2, {256: 0}), "impossible"),
    "too wide": (tiff([U2.tobytes()], U2, {256: 1 << 30}), "impossible"),
    "no tiles": (tiff(tiles(U2, 16), U2, {322: 0, 323: 16}), "impossible"),
    "unknown predictor": (tiff([zlib.compress(U2.tobytes())], U2, {259: 8, 317: 3}), "predictor 3"),
}


@pytest.mark.parametrize("name", BAD_TIFF)
def test_damaged_and_other_tiff_is_refused_in_words(name: str) -> None:
    data, said = BAD_TIFF[name]
    with pytest.raises(ImageError, match=said):
        list(tiff_frames(memoryview(data)))


def test_a_directory_that_follows_itself_is_refused() -> None:
    data = bytearray(tiff([U2.tobytes()], U2))
    data[-8 * 1 :]  # the link lies before the long values; here there are none
    data[-4:] = data[4:8]
    with pytest.raises(ImageError, match="back to one another"):
        list(tiff_frames(memoryview(bytes(data))))


# ---- EDF -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [("UnsignedByte", "u1"), ("SignedShort", "<i2"), ("UnsignedShort", "<u2"), ("SignedInteger", "<i4"), ("UnsignedLong", "<u4"), ("FloatValue", "<f4"), ("DoubleValue", "<f8"), ("Unsigned64", "<u8")],
)  # fmt: skip
def test_edf_of_every_type_is_read_as_fabio_reads_it(kind: str, dtype: str, tmp_path: Path) -> None:
    frames = [(I4 % 100 + number).astype(dtype) for number in range(3)]
    path = tmp_path / "a.edf"
    path.write_bytes(edf(*frames, kind=kind))
    np.testing.assert_array_equal(list(read_frames(path)), frames)
    with fabio.open(str(path)) as theirs:
        np.testing.assert_array_equal([theirs.get_frame(n).data for n in range(3)], frames)


def test_edf_of_other_forms_is_read(tmp_path: Path) -> None:
    big = edf(U2.astype(">u2"), ByteOrder="HighByteFirst")
    np.testing.assert_array_equal(list(edf_frames(memoryview(big))), [U2])
    padded = edf(U2, Size=str(U2.nbytes + 100)) + bytes(100) + edf(U2 + np.uint16(1)) + b"\n\n"
    np.testing.assert_array_equal(list(edf_frames(memoryview(padded))), [U2, U2 + np.uint16(1)])
    np.testing.assert_array_equal(list(edf_frames(memoryview(edf(U2, Size="")))), [U2])
    general = b"{\nEDF_DataFormatVersion = 2.40 ;\nEDF_BinarySize = 0 ;\nByteOrder = LowByteFirst ;\n}\n"
    np.testing.assert_array_equal(list(edf_frames(memoryview(general + edf(U2, ByteOrder="")))), [U2])
    image = fabio.edfimage.EdfImage(data=I4)
    image.append_frame(data=I4 + 1)
    image.write(str(tmp_path / "f.edf"))
    np.testing.assert_array_equal(list(read_frames(tmp_path / "f.edf")), [I4, I4 + 1])


BAD_EDF = {
    "short": (edf(U2)[:-1], "ends at"),
    "short second": (edf(U2, U2)[:-1], "frame 1 ends at"),
    "header alone": (edf(U2)[:1024], "ends at"),
    "cut header": (edf(U2)[:200], "no end"),
    "no frame": (b"\n\n", "no frame"),
    "something behind": (edf(U2) + b"more", "no header of frame 1"),
    "size too small": (edf(U2, Size="100"), "has 100 bytes"),
    "size of letters": (edf(U2, Size="many"), "no number"),
    "negative": (edf(U2, Dim_1="-37"), "no number"),
    "huge": (edf(U2, Dim_1="99999999"), "no image"),
    "cube": (edf(U2, Dim_3="2"), "further axes"),
    "type": (edf(U2, kind="Complex"), "not known"),
    "no order": (edf(U2, ByteOrder=""), "no ByteOrder"),
    "packed": (edf(U2, Compression="GzipCompression"), "compressed by gzip"),
    "elsewhere": (edf(U2, EDF_BinaryFileName="x.bin"), "another file"),
}


@pytest.mark.parametrize("name", BAD_EDF)
def test_damaged_edf_is_refused_in_words(name: str) -> None:
    data, said = BAD_EDF[name]
    with pytest.raises(ImageError, match=said):
        list(edf_frames(memoryview(data)))


# ---- CBF -----------------------------------------------------------------------------------------------------------------------


def cbf(image: NDArray[Any], tmp_path: Path) -> bytes:
    fabio.cbfimage.CbfImage(data=image).write(str(tmp_path / "made.cbf"))
    return (tmp_path / "made.cbf").read_bytes()


STEPS = np.array([[0, 127, -128, 255, -129, 32767, -32768, 65535], [-65537, 2**31 - 1, -(2**31), 7, 7, 6, -1, 0]], "i4")


@pytest.mark.parametrize("image", [I4, STEPS, np.full((40, 50), -128, "i4"), (U2 % 200).astype("u4")])
def test_cbf_is_read_as_fabio_writes_it(image: NDArray[Any], tmp_path: Path) -> None:
    (frame,) = cbf_frames(memoryview(cbf(image, tmp_path)))
    np.testing.assert_array_equal(frame, image)
    assert frame.dtype == image.dtype.newbyteorder("=")


def _flipped(data: bytes) -> bytes:
    at = data.index(b"\x0c\x1a\x04\xd5") + 60
    return data[:at] + bytes([data[at] ^ 0x11]) + data[at + 1 :]


def _resized(data: bytes, by: int) -> bytes:
    """Return the data with another height in the header, and with a matching checksum and number of elements."""
    data = data.replace(b"Second-Dimension: %d" % H, b"Second-Dimension: %d" % (H + by))
    return data.replace(b"Elements: %d" % (H * W), b"Elements: %d" % ((H + by) * W))


BAD_CBF: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "checksum": (_flipped, "Content-MD5"),
    "cut in pixels": (lambda data: data[: data.index(b"\x0c\x1a\x04\xd5") + 100], "pixels end at"),
    "cut in header": (lambda data: data[: data.index(b"X-Binary-Element")], "before its pixels begin"),
    "cut before": (lambda data: data[:20], "no binary section"),
    "rows too many": (lambda data: _resized(data, 1), "make 777 pixels, and its header says 814"),
    "rows too few": (lambda data: _resized(data, -1), "make 777 pixels, and its header says 740"),
    "elements": (lambda data: data.replace(b"Elements: 777", b"Elements: 778"), "another number"),
    "type": (lambda data: data.replace(b"signed 32-bit integer", b"signed 32-bit float!!"), "Element-Type"),
    "packed": (lambda data: data.replace(b"x-CBF_BYTE_OFFSET", b"x-CBF_PACKED"), "conversion of its pixels is x-CBF_PACKED"),
    "two": (lambda data: data + b"\r\n" + data, "several"),
    "volume": (lambda data: data.replace(b"X-Binary-Size-Padding", b"X-Binary-Size-Third-Dimension: 2\r\nX-Binary-Size-Padding"), "several"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_CBF)
def test_damaged_cbf_is_refused_in_words(name: str, tmp_path: Path) -> None:
    change, said = BAD_CBF[name]
    with pytest.raises(ImageError, match=said):
        list(cbf_frames(memoryview(change(cbf(I4, tmp_path)))))


# ---- all of them ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, zstandard.compress], ids=["gz", "bz2", "zst"])
@pytest.mark.parametrize("name", ["a.tif", "A.TIFF", "a.Edf", "a.CBF"])
def test_packed_files_are_read_whatever_the_case_of_their_names(
    name: str, pack: Callable[[bytes], bytes], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    kind = name.lower().partition(".")[2]
    good = {"tif": tiff([U2.tobytes()], U2), "tiff": tiff([U2.tobytes()], U2), "edf": edf(U2), "cbf": b""}[kind]
    packing = request.node.callspec.id.split("-")[1]
    packed = pack(good or cbf(U2.astype("i4"), tmp_path))
    path = tmp_path / f"{name}.{packing.upper()}"
    path.write_bytes(packed)
    np.testing.assert_array_equal(list(read_frames(path)), [U2])
    path.write_bytes(packed[:-3])
    with pytest.raises(ImageError, match="copy it again"):
        list(read_frames(path))


def test_what_fabio_only_logs_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.msk"
    fabio.fit2dmaskimage.Fit2dMaskImage(data=BITS).write(str(path))
    np.testing.assert_array_equal(list(read_frames(path)), [BITS])

    def logs(self: Any, *_: Any, **__: Any) -> Any:
        fabio.fit2dmaskimage.logging = __import__("logging")
        __import__("logging").getLogger("fabio.fit2dmaskimage").error("Data stream is incomplete")
        self.data = BITS
        return self

    monkeypatch.setattr(fabio.fit2dmaskimage.Fit2dMaskImage, "read", logs)
    with pytest.raises(ImageError, match="fabio says: Data stream is incomplete"):
        list(read_frames(path))


def _damaged(data: bytes, dice: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(dice.randint(1, 4)):
        changed[dice.randrange(len(changed))] = dice.randrange(256)
    return bytes(changed[: dice.randrange(len(changed))] if dice.random() < 0.3 else changed)


Reader = Callable[[memoryview], Iterator[NDArray[Any]]]


@pytest.mark.parametrize("reader", [tiff_frames, edf_frames, cbf_frames])
def test_any_bytes_are_frames_or_an_error_of_ours(reader: Reader, tmp_path: Path) -> None:
    small = U2[:3, :5].copy()
    of_reader: dict[Reader, list[bytes]] = {
        tiff_frames: [
            tiff(rows(small, 1), small, {278: 1}),
            tiff([zlib.compress(differences(small))], small, {259: 8, 317: 2}),
            by_pillow(small, "tiff_lzw"),
            tiff(rows(small, 1), small, {278: 1}, big=True),
        ],
        edf_frames: [edf(small, small)],
        cbf_frames: [cbf(small.astype("i4"), tmp_path)],
    }
    good = of_reader[reader]
    dice = random.Random(7)
    for _ in range(1500):
        try:
            list(reader(memoryview(_damaged(dice.choice(good), dice))))
        except ImageError as error:
            assert str(error)
