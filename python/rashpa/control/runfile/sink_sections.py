# SPDX-License-Identifier: Apache-2.0
"""Defines the sinks of the run file, [[buffer.sink]]."""

from typing import Annotated, Literal

from pydantic import Field

from rashpa.control.runfile.section import Section


class _Sink(Section):
    """Declares the common keys of all sinks."""

    kind: str
    on_full: Literal["wait", "drop"] = Field(
        default="wait",
        description="reaction when the sink is behind: wait holds the slots; drop copies images into memory of its own, and leaves out those without room there",
    )
    queue: int = Field(default=4, ge=1, le=1024, description="drop: stacks in memory of its own")


class Hdf5Sink(_Sink):
    """Files <output>/<run name>_<buffer>_master.h5 and _data_*.h5: NXmx, or lists of pixels."""

    kind: Literal["hdf5"]
    images_per_file: int = Field(default=1000, ge=1, le=2**32 - 1)
    threads: int = Field(default=1, ge=1, le=64)
    compress: Literal["auto", "host"] = Field(
        default="auto",
        description="the maker of the chunks: auto, a GPU that is the buffer's unit, where no other sink needs pixels; host, threads, with somewhat smaller chunks",
    )


class RawSink(_Sink):
    """Files <output>/<run name>_<buffer>_raw_master.h5 and _raw_data_*.raw: pixels as they are, past the page cache; `rashpa convert` makes NXmx of them."""

    kind: Literal["raw"]
    images_per_file: int = Field(default=1000, ge=1, le=2**32 - 1, description="images for which each file takes room")
    io: Literal["auto", "io_uring", "threads"] = Field(
        default="auto", description="the writer; auto: as the kernel allows"
    )
    in_flight: int = Field(default=16, ge=1, le=128, description="most writes at a time, of 4 MiB at most")


class MemorySink(_Sink):
    """Keeps accepted images in memory."""

    kind: Literal["memory"]
    capacity: int = Field(default=16, ge=1, le=2**20)


class NullSink(_Sink):
    """Counts and stores nothing."""

    kind: Literal["null"]


class Stream2Sink(_Sink):
    """Sends accepted images to other programs as DECTRIS Stream V2: CBOR over ZeroMQ. It waits for no consumer."""

    kind: Literal["stream2"]
    endpoint: str = Field(
        default="tcp://127.0.0.1:31001",
        pattern=r"^tcp://(\d{1,3}(\.\d{1,3}){3}|\[[0-9A-Fa-f:]{2,39}\]):\d{1,5}$",
        description="address to which the first consumer connects, port 0: any free one; other than loopback as the receiver's --publish allows. Nothing is encrypted",
    )
    consumers: int = Field(
        default=1,
        ge=1,
        le=64,
        description="each has a port of its own, from that of the endpoint on, with a queue of its own",
    )
    pattern: Literal["push", "pub"] = Field(
        default="push",
        description="push: clients of one port share its images, as the vendor's do; pub: each client of a port gets all of them",
    )
    waiting: int = Field(
        default=256,
        ge=1,
        le=2**20,
        description="messages that wait for a consumer; one that is further behind misses images",
    )
    wait_s: float = Field(
        default=0.0,
        ge=0,
        le=3,
        description="how long the run waits, before its first frame, until each consumer is connected",
    )


Sink = Annotated[Hdf5Sink | RawSink | MemorySink | NullSink | Stream2Sink, Field(discriminator="kind")]
