# SPDX-License-Identifier: Apache-2.0
"""Makes valid telegrams, one of each kind, as in schema/golden/*.xml. `python -m rashpa.testing.telegram_samples FOLDER` writes them again."""

import dataclasses
import sys
from pathlib import Path

from pydantic import TypeAdapter

from rashpa.control.runfile.engine_keys import BufferKeys, FaultsKeys, ReductionKeys
from rashpa.control.runfile.kernels import Kernel
from rashpa.control.runfile.run_file import Link
from rashpa.control.runfile.sink_sections import NullSink
from rashpa.control.telegrams import telegram as t
from rashpa.control.telegrams.part_orders import DtpPlace, FileMetadata, Hdf5Order, ModulePlace
from rashpa.control.telegrams.telegram_xml import encode
from rashpa.testing.status_samples import status_samples

_KERNEL: TypeAdapter[Kernel] = TypeAdapter(Kernel)
_OWNER = "3f6c0a52d1e94b7f8a2b5c6d7e8f9012"


_PLACEMENT = t.Placement(
    pixels_offset=4096,
    slot_bytes=2097152,
    slots=40,
    first_line_offset=1048576,
    pitch=2048,
    line_bytes=2048,
    lines=256,
    records_offset=83890176,
)
_RECEIVER_END = t.Endpoint(address="127.0.0.1", port=4791, qpn=17, rkey=3735928559, credit_offset=0, psn=4660)
_EMULATOR_END = t.Endpoint(address="127.0.0.1", port=49152, qpn=18, rkey=48879, credit_offset=128, psn=16777215)


def telegram_samples() -> dict[str, t.Telegram]:
    """Return the telegrams by file name without .xml."""
    return {
        "get_capabilities": t.GetCapabilities(units=("cpu", "opencl")),
        "capabilities": _capabilities(),
        **_before_the_run(),
        **_in_the_run(),
        "abort": t.Abort(force=True),
        "reset": t.Reset(),
        "get_status": t.GetStatus(),
        **status_samples(),
        "notify": t.Notify(node="receiver", what="overrun", text="2 images of DTPs came while their slot was not free"),
        "fault": t.Fault(
            node="emulator",
            state="idle",
            code="state",
            text="emulator is idle; Start is obeyed when armed <& not before>",
        ),
    }


def _capabilities() -> t.Capabilities:
    return t.Capabilities(
        node="receiver",
        role="receiver",
        software="rashpa 0.1.0",
        processors=2,
        memory_bytes=8589934592,
        max_dtps=256,
        pixels=("uint16", "float32"),
        kernels=("jungfrau",),
        sinks=("hdf5", "null"),
        links=(t.Link(name="roce", bytes_per_s=3000000000, pmtus=(1024, 4096)),),
        units=(
            t.Unit(name="cpu", usable=True, what="2 processors"),
            t.Unit(name="cuda", usable=False, what="no CUDA device"),
            t.Unit(name="opencl", usable=False, what="no OpenCL device"),
        ),
        interfaces=(
            t.Interface(name="eth0", device="mlx5_0", bits_per_s=100000000000, addresses=("10.0.0.7", "fe80::1")),
        ),
        throughputs=(
            t.Throughput(
                pipeline="0123456789abcdef",
                what="jungfrau on cpu, 2 threads, stacks of 10",
                width=1024,
                height=1060,
                images_per_s=812.5,
                date="2026-11-23",
            ),
        ),
        devices=(
            t.UnitDevice(
                unit="cuda",
                number=0,
                name="NVIDIA H200",
                memory_bytes=150121545728,
                free_bytes=149000000000,
                unified=False,
                bar1_bytes=274877906944,
                bar1_free_bytes=274860000000,
                remote_writes="GPUDirect RDMA yes, dma-buf yes, writes in order for all devices, flush by host",
            ),
        ),
    )


def _before_the_run() -> dict[str, t.Telegram]:
    return {
        "claim": t.Claim(holder="run first_light of alice@beamline", owner=_OWNER),
        "configure_source": t.Configure(run=7, name="first_light", source=_source(), owner=_OWNER),
        "configure_card": t.Configure(run=7, name="first_light", source=_of_card(_source()), owner=_OWNER),
        "configure_destination": t.Configure(
            run=7, name="first_light", destination=_destination(), orphaned=t.Orphaned(quiet_s=9.5, keep_s=3600.0)
        ),
        "configured": t.Configured(node="receiver", endpoints=(_RECEIVER_END,), placements=(_PLACEMENT,)),
        "arm": t.Arm(endpoints=(_EMULATOR_END,)),
    }


def _in_the_run() -> dict[str, t.Telegram]:
    return {
        "start": t.Start(owner=_OWNER),
        "pause": t.Pause(frame=400),
        "resume": t.Resume(rate_hz=120.0),
        "trigger": t.Trigger(frames=25),
        "stop": t.Stop(ends=(t.DtpEnd(dtp=0, images=1200), t.DtpEnd(dtp=1, images=1199))),
        "join": t.Join(
            group="farm",
            member=t.GroupMember(name="c", stack=10, dtps=(2,)),
            dtps=_source().dtps,
        ),
        "resend": t.Resend(group="farm", member="b", image=120),
        "feed": t.Feed(group="farm", member="b", fed=True),
        "hold_deadlines": t.HoldDeadlines(held=True),
        "set_limits": t.SetLimits(
            buffer="full",
            number=1,
            by="operator at the page",
            kernel=_KERNEL.validate_python({"name": "bragg_count", "threshold": 5, "min_pixels": 40}),
            owner=_OWNER,
        ),
    }


def _source() -> t.Source:
    return t.Source(
        bind_address="127.0.0.1",
        frames=2400,
        modules=2,
        width=1024,
        height=512,
        pixel="uint16",
        rate_hz=100.0,
        flow="credits",
        on_full="pause",
        first_processor=-1,
        numa="off",
        dataset=_dataset(),
        faults=t.Faults(
            seed=1,
            keys=FaultsKeys.model_validate({"drop": 0.001, "corrupt": 1e-05}),
            dead_modules=(t.DeadModule(module=1, from_frame=2000),),
        ),
        dtps=(
            t.SourceDtp(
                id=2,
                module=1,
                x=0,
                y=256,
                width=1024,
                height=256,
                every=1,
                phase=0,
                images=2400,
                placement=dataclasses.replace(_PLACEMENT, pitch=1024, line_bytes=1024, lines=64),
                destination=_RECEIVER_END,
                reduction=t.Reduction(
                    keys=ReductionKeys.model_validate({"bin_x": 2, "bin_y": 4, "bin_by": "mean", "threshold": 3.5}),
                    most=65534,
                    saturated=65535,
                    offset="/data/dark_1.npy",
                ),
            ),
        ),
        options=(Link().options("roce", ""), Link().options("pcie", "")),
        emulator="right",
        groups=(
            t.Group(
                name="farm",
                replay_frames=2000,
                members=(t.GroupMember(name="a", stack=10, dtps=(2,)), t.GroupMember(name="b", stack=10, dtps=(3, 4))),
            ),
        ),
    )


def _of_card(source: t.Source) -> t.Source:
    card = t.Card(
        directory="/dev",
        mac="02:00:00:00:00:01",
        neighbours=(t.Neighbour(address="10.0.0.7", mac="0c:42:a1:00:00:07"),),
    )
    return dataclasses.replace(source, card=card)


def _dataset() -> t.Dataset:
    return t.Dataset(
        kind="jungfrau", parameters=(t.Parameter(name="modules", value="2"), t.Parameter(name="seed", value="1"))
    )


def _destination() -> t.Destination:
    buffer = t.Buffer(
        name="full",
        width=1024,
        height=512,
        pixel="uint16",
        keys=BufferKeys(unit="cuda", trigger="graph"),
        images=2400,
        device="0",
        dtps=(t.DestinationDtp(id=2, module=1, x=0, y=256, width=1024, height=256, source_x=0, source_y=256),),
        kernels=(
            _kernel(name="jungfrau", photon_energy_kev=12.4),
            _kernel(name="bragg_count", threshold=3, min_pixels=10),
            _kernel(
                name="plugin",
                file="peaks.so",
                parameters={"tries": 3, "gain": 0.5, "loud": True, "map": "maps/a b.npy"},
            ),
            _kernel(name="python", function="hits:spots"),
        ),
        sinks=(_files(), NullSink(kind="null")),
        bad=(t.BadRegion(x=3, y=0, width=5, height=1),),
        special=(t.SpecialValue(value=65535, meaning="gap"), t.SpecialValue(value=65534, meaning="saturated")),
        masked="delivered",
        feedback=t.Feedback(ring="hits", zmq="tcp://127.0.0.1:0", images=4096),
    )
    return t.Destination(
        receiver="whole",
        peer_link="roce",
        bind_address="127.0.0.1",
        port=0,
        link_threads=1,
        flow="credits",
        poll="event",
        memory="huge",
        first_processor=-1,
        modules=2,
        module_width=1024,
        module_height=512,
        dataset=_dataset(),
        buffers=(buffer,),
        options=Link.model_validate({"verbs": {"verify": "sampled"}}).options("verbs", "rxe0"),
        calibration=t.Calibration(parameters=(t.Parameter(name="pedestal", value='["jf.h5", "jf.h5:1"]'),)),
    )


def _kernel(**values: object) -> Kernel:
    return _KERNEL.validate_python(values)


def _files() -> Hdf5Order:
    metadata = FileMetadata(
        detector_name="JUNGFRAU",
        description="JUNGFRAU 1M",
        instrument_name="",
        source_name="",
        sample_name='lysozyme <&> "water"',
        distance_m=0.1,
        beam_center_x=512.0,
        beam_center_y=256.0,
        energy_kev=12.4,
        wavelength_angstrom=0.9998725531120988,
        pixel_size_m=7.5e-05,
        sensor_material="Si",
        sensor_thickness_m=0.00032,
        count_time_s=0.0,
        frame_time_s=0.01,
        bit_depth_readout=16,
        labels=["synthetic data"],
        modules=[ModulePlace(name="m1", x=0, y=256, width=1024, height=256)],
        dtps=[DtpPlace(id=2, module=1, x=0, y=256, width=1024, height=256)],
        receiver="whole",
        run_number=7,
        run_name="first_light",
        run_file="/runs/first_light.toml",
        run_file_sha256="ab" * 32,
        run_id="cd" * 16,
    )
    return Hdf5Order(
        kind="hdf5", on_full="drop", queue=8, prefix="out/first_light_full", existing="refuse", metadata=metadata
    )


if __name__ == "__main__":
    for name, sample in telegram_samples().items():
        (Path(sys.argv[1]) / f"{name}.xml").write_bytes(encode(sample))
