# SPDX-License-Identifier: Apache-2.0
"""Valid telegrams, one of each kind, as in schema/golden/*.xml. `python -m rashpa.testing.telegram_samples FOLDER` writes them anew."""

import dataclasses
import sys
from pathlib import Path

from pydantic import TypeAdapter

from rashpa.control.runfile.kernels import Kernel
from rashpa.control.runfile.links import options_of
from rashpa.control.runfile.run_file import Link
from rashpa.control.runfile.sink_sections import NullSink
from rashpa.control.telegrams import telegram as t
from rashpa.control.telegrams.part_orders import DtpPlace, FileMetadata, Hdf5Order, ModulePlace
from rashpa.control.telegrams.telegram_xml import encode

_KERNEL: TypeAdapter[Kernel] = TypeAdapter(Kernel)
_OWNER = "3f6c0a52d1e94b7f8a2b5c6d7e8f9012"


def telegram_samples() -> dict[str, t.Telegram]:
    """Return the telegrams by file name without .xml."""
    placement = t.Placement(4096, 2097152, 40, 1048576, 2048, 2048, 256, 83890176)
    receiver_end = t.Endpoint("127.0.0.1", 4791, 17, 3735928559, 0, psn=4660)
    emulator_end = t.Endpoint("127.0.0.1", 49152, 18, 48879, 128, psn=16777215)
    return {
        "get_capabilities": t.GetCapabilities(),
        "capabilities": t.Capabilities(
            "receiver",
            "receiver",
            "rashpa 0.1.0",
            2,
            8589934592,
            256,
            ("uint16", "float32"),
            ("jungfrau",),
            ("hdf5", "null"),
            (t.Link("roce", 3000000000, (1024, 4096)),),
            (
                t.Unit("cpu", True, "2 processors"),
                t.Unit("cuda", False, "no CUDA device"),
                t.Unit("opencl", False, "no OpenCL device"),
            ),
            (t.Interface("eth0", "mlx5_0", 100000000000, ("10.0.0.7", "fe80::1")),),
            (
                t.Throughput(
                    "0123456789abcdef", "jungfrau on cpu, 2 threads, stacks of 10", 1024, 1060, 812.5, "2026-11-23"
                ),
            ),
            (t.UnitDevice("cuda", 0, "NVIDIA H200", 150121545728, 149000000000, False),),
        ),
        "claim": t.Claim("run first_light of alice@beamline", owner=_OWNER),
        "configure_source": t.Configure(7, "first_light", source=_source(placement, receiver_end), owner=_OWNER),
        "configure_card": t.Configure(
            7, "first_light", source=_of_card(_source(placement, receiver_end)), owner=_OWNER
        ),
        "configure_destination": t.Configure(
            7, "first_light", destination=_destination(), orphaned=t.Orphaned(9.5, 3600.0)
        ),
        "configured": t.Configured("receiver", (receiver_end,), (placement,)),
        "arm": t.Arm((emulator_end,)),
        "start": t.Start(owner=_OWNER),
        "pause": t.Pause(frame=400),
        "resume": t.Resume(rate_hz=120.0),
        "trigger": t.Trigger(25),
        "stop": t.Stop((t.DtpEnd(0, 1200), t.DtpEnd(1, 1199))),
        "join": t.Join("farm", t.GroupMember("c", 10, (2,)), _source(placement, receiver_end).dtps),
        "resend": t.Resend("farm", "b", 120),
        "feed": t.Feed("farm", "b", True),
        "hold_deadlines": t.HoldDeadlines(True),
        "abort": t.Abort(force=True),
        "reset": t.Reset(),
        "get_status": t.GetStatus(),
        "status_idle": t.Status("emulator", "emulator", "idle"),
        "status_configuring": t.Status("emulator", "emulator", "idle", holder="run a of b", prepared=0.25),
        "status_emulator": t.Status(
            "emulator", "emulator", "running", holder="run first_light of alice@beamline", source=_source_status()
        ),
        "status_receiver": t.Status(
            "receiver",
            "receiver",
            "finished",
            "",
            destination=_destination_status(),
            notifications=(
                t.Notify("receiver", "incomplete", "buffer full image 3 (frame 3): DTP 2 module 1 lost 4 lines"),
            ),
        ),
        "notify": t.Notify("receiver", "overrun", "2 images of DTPs came while their slot was not free"),
        "fault": t.Fault("emulator", "idle", "state", "emulator is idle; Start is obeyed when armed <& not before>"),
    }


def _source(placement: t.Placement, end: t.Endpoint) -> t.Source:
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
        faults=t.Faults(1, 0.001, 0.0, 0.0, 1e-05, 0.0, 1000, (t.DeadModule(1, 2000),)),
        dtps=(t.SourceDtp(2, 1, 0, 256, 1024, 256, 1, 0, 2400, placement, end),),
        options=(options_of(Link(), "roce", ""), options_of(Link(), "pcie", "")),
        emulator="right",
        groups=(t.Group("farm", 2000, 100, (t.GroupMember("a", 10, (2,)), t.GroupMember("b", 10, (3, 4)))),),
    )


def _of_card(source: t.Source) -> t.Source:
    card = t.Card("/dev", "02:00:00:00:00:01", (t.Neighbour("10.0.0.7", "0c:42:a1:00:00:07"),))
    return dataclasses.replace(source, card=card)


def _dataset() -> t.Dataset:
    return t.Dataset("jungfrau", (t.Parameter("modules", "2"), t.Parameter("seed", "1")))


def _destination() -> t.Destination:
    buffer = t.Buffer(
        name="full",
        width=1024,
        height=512,
        pixel="uint16",
        slots=40,
        stack=10,
        every=1,
        phase=0,
        images=2400,
        deadline_ms=1000,
        partial="keep",
        keep_darks=False,
        threads=1,
        unit="cuda",
        trigger="graph",
        device="0",
        dtps=(t.DestinationDtp(2, 1, 0, 256, 1024, 256, 0, 256),),
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
        special=(t.SpecialValue(65535, "gap"), t.SpecialValue(65534, "saturated")),
        masked="delivered",
        feedback=t.Feedback("hits", "tcp://127.0.0.1:0", 4096),
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
        options=options_of(Link(verify="sampled"), "verbs", "rxe0"),
        calibration=t.Calibration((t.Parameter("pedestal", '["jf.h5", "jf.h5:1"]'),)),
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


def _source_status() -> t.SourceStatus:
    dtp = t.SourceDtpStatus(2, 1000, 0, 524288000, 130000, 12, 0, 25000, 3)
    member = t.MemberStatus("a", "late", 520, 500, 20, 0, 3, 1, 12.5, 104.25, 250.5)
    group = t.GroupStatus("farm", 1040, 4, 16, 3, 0, 0, False, (member,))
    return t.SourceStatus(
        10.5,
        (
            t.Count("trigger", "accepted", 4),
            t.Count("trigger", "refused", 1),
            t.Count("trigger", "frames", 100),
            t.Count("injected", "drop", 3),
        ),
        (dtp,),
        "right",
        100.0,
        groups=(group,),
    )


def _destination_status() -> t.DestinationStatus:
    dtp = t.DestinationDtpStatus(2, 1, 2400, 2398, 1, 1, 4, (t.Count("loss", "lines", 1), t.Count("loss", "event", 1)))
    buffer = t.BufferStatus(
        name="full",
        sink_error="",
        unit="trigger graph on NVIDIA H200: as asked for",
        unit_error="",
        bytes_written=629145600,
        bytes_stored=104857600,
        books=t.Books(2400, 2398, 1, 1, 598, 1799, 2, 598),
        counts=(t.Count("veto", "too_few", 1799), t.Count("error", "storage", 2)),
        latencies=(t.Latency("ready", 240, 11.5, 80.25, 412.0, 4100.5, (*range(24), 240)),),
        dtps=(dtp,),
        to_write=10,
        first_errored=t.FirstErrored(70, 70, "storage", "No space left on device"),
        busy="kernel python has been at work on image 71 (frame 71) for 4 s and does not come to its end",
        sinks=(
            t.SinkStatus(
                name="hdf5",
                on_full="wait",
                accepted=600,
                written=588,
                dropped=0,
                errored=2,
                waiting=10,
                bytes_written=616562688,
                bytes_stored=104857600,
                error="No space left on device",
                first=t.FirstErrored(70, 70, "storage", "No space left on device"),
            ),
            t.SinkStatus("memory", "drop", 600, 580, 20, 0, 0, 608174080, 608174080, ""),
            t.SinkStatus(
                "stream2",
                "wait",
                600,
                598,
                2,
                0,
                0,
                627048448,
                106954752,
                "",
                consumers=(
                    t.ConsumerStatus("tcp://127.0.0.1:31001", 1, 598, 2),
                    t.ConsumerStatus("tcp://127.0.0.1:31002", 0, 0, 600),
                ),
                restarts=3,
            ),
        ),
        slots=400,
        feedback=t.FeedbackStatus("/rings/rashpa.hits", "tcp://127.0.0.1:39001", 2400, 2390, 10, 2, 1),
        file="/data/first_light_full_master.h5",
    )
    first = "buffer full image 3 (frame 3): DTP 2 module 1 lost 4 lines"
    return t.DestinationStatus(
        "whole", 24.0, "transparent-huge", first, (t.Count("link", "packets", 312000),), (buffer,)
    )


if __name__ == "__main__":
    for name, sample in telegram_samples().items():
        (Path(sys.argv[1]) / f"{name}.xml").write_bytes(encode(sample))
