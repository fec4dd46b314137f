# SPDX-License-Identifier: Apache-2.0
"""Lists the devices near which the memory and the threads of an engine should be."""

from collections.abc import Iterator, Sequence

from rashpa import _native
from rashpa.control.runfile.links import DEVICE, parameters_of
from rashpa.control.telegrams import telegram
from rashpa.node.engine.native_emulator import link_options
from rashpa.node.engine.places.numa import Device, gpu, network_card


def near_source(order: telegram.Source) -> Iterator[Device]:
    """Yield the devices that read an emulator's frames: the GPU if it is the emulator's engine, otherwise its network cards."""
    for options in order.options:
        if (number := link_options(options).gpu) >= 0:
            yield from _gpus([number])
        elif options.kind != "pcie":
            yield from network_card(order.bind_address, str(parameters_of(options).get(DEVICE, "")))


def near_destination(order: telegram.Destination) -> Iterator[Device]:
    """Yield the devices that read a receiver's buffers (the GPUs of its units), then the network card that receives its images."""
    for buffer in order.buffers:
        if buffer.keys.unit == "cuda":
            yield from _gpus([int(device) for device in buffer.device.split(",") if device.strip().isdigit()])
    if order.link != "pcie":
        yield from network_card(order.bind_address, str(parameters_of(order.options).get(DEVICE, "")))


def _gpus(numbers: Sequence[int]) -> Iterator[Device]:
    buses = {number: bus for _, number, bus in _native.device_buses(["cuda"])}
    for number in numbers:
        if buses.get(number):
            yield gpu(buses[number])
