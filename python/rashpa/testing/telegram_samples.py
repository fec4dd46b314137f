# SPDX-License-Identifier: Apache-2.0
"""Valid telegrams, one of each kind, as in schema/golden/*.xml. `python -m rashpa.testing.telegram_samples FOLDER` writes them anew."""

import dataclasses
import sys
from pathlib import Path

from pydantic import TypeAdapter

from rashpa.control.runfile.engine_keys import BufferKeys, FaultsKeys
from rashpa.control.runfile.kernels import Kernel
from rashpa.control.runfile.run_file import Link
from rashpa.control.runfile.sink_sections import NullSink
from rashpa.control.telegrams import telegram as t
from rashpa.control.telegrams.part_orders import DtpPlace, FileMetadata, Hdf5Order, ModulePlace
from rashpa.control.telegrams.telegram_xml import encode

_KERNEL: TypeAdapter[Kernel] = TypeAdapter(Kernel)
_OWNER = "3f6c0a52d1e94b7f8a2b5c6d7e8f9012"


def telegram_samples() -> dict[str, t.Telegram]:
    """Return the telegrams by file name without .xml."""
    placement = t.Placement(
        pixels_offset=4096,
        slot_bytes=2097152,
        slots=40,
        first_line_offset=1048576,
        pitch=2048,
        line_bytes=2048,
        lines=256,
        records_offset=83890176,
    )
    receiver_end = t.Endpoint(address="127.0.0.1", port=4791, qpn=17, rkey=3735928559, credit_offset=0, psn=4660)
    emulator_end = t.Endpoint(address="127.0.0.1", port=49152, qpn=18, rkey=48879, credit_offset=128, psn=16777215)
    return {
        "get_capabilities": t.GetCapabilities(),
        "capabilities": t.Capabilities(
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
                ),
            ),
        ),
        "claim": t.Claim(holder="run first_light of alice@beamline", owner=_OWNER),
        "configure_source": t.Configure(
            run=7, name="first_light", source=_source(placement, receiver_end), owner=_OWNER
        ),
        "configure_card": t.Configure(
            run=7, name="first_light", source=_of_card(_source(placement, receiver_end)), owner=_OWNER
        ),
        "configure_destination": t.Configure(
            run=7, name="first_light", destination=_destination(), orphaned=t.Orphaned(quiet_s=9.5, keep_s=3600.0)
        ),
        "configured": t.Configured(node="receiver", endpoints=(receiver_end,), placements=(placement,)),
        "arm": t.Arm(endpoints=(emulator_end,)),
        "start": t.Start(owner=_OWNER),
        "pause": t.Pause(frame=400),
        "resume": t.Resume(rate_hz=120.0),
        "trigger": t.Trigger(frames=25),
        "stop": t.Stop(ends=(t.DtpEnd(dtp=0, images=1200), t.DtpEnd(dtp=1, images=1199))),
        "join": t.Join(
            group="farm",
            member=t.GroupMember(name="c", stack=10, dtps=(2,)),
            dtps=_source(placement, receiver_end).dtps,
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
        "abort": t.Abort(force=True),
        "reset": t.Reset(),
        "get_status": t.GetStatus(),
        "status_idle": t.Status(node="emulator", role="emulator", state="idle"),
        "status_configuring": t.Status(
            node="emulator", role="emulator", state="idle", holder="run a of b", prepared=0.25
        ),
        "status_emulator": t.Status(
            node="emulator",
            role="emulator",
            state="running",
            holder="run first_light of alice@beamline",
            source=_source_status(),
        ),
        "status_receiver": t.Status(
            node="receiver",
            role="receiver",
            state="finished",
            message="",
            destination=_destination_status(),
            notifications=(
                t.Notify(
                    node="receiver",
                    what="incomplete",
                    text="buffer full image 3 (frame 3): DTP 2 module 1 lost 4 lines",
                ),
            ),
        ),
        "notify": t.Notify(node="receiver", what="overrun", text="2 images of DTPs came while their slot was not free"),
        "fault": t.Fault(
            node="emulator",
            state="idle",
            code="state",
            text="emulator is idle; Start is obeyed when armed <& not before>",
        ),
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
                placement=placement,
                destination=end,
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


def _source_status() -> t.SourceStatus:
    dtp = t.SourceDtpStatus(
        id=2,
        images_sent=1000,
        images_skipped=0,
        payload_bytes=524288000,
        packets=130000,
        waits=12,
        window_timeouts=0,
        late_ns=25000,
        cnps_received=3,
    )
    member = t.MemberStatus(
        name="a",
        state="late",
        dealt=520,
        done=500,
        taken=20,
        resent=0,
        duplicates=3,
        lates=1,
        response_ms=12.5,
        silent_ms=104.25,
        given_ago_ms=250.5,
    )
    group = t.GroupStatus(
        name="farm", fresh=1040, waiting=4, resent=16, duplicates=3, lost=0, skipped=0, settled=False, members=(member,)
    )
    return t.SourceStatus(
        elapsed_s=10.5,
        counts=(
            t.Count(group="trigger", name="accepted", value=4),
            t.Count(group="trigger", name="refused", value=1),
            t.Count(group="trigger", name="frames", value=100),
            t.Count(group="injected", name="drop", value=3),
        ),
        dtps=(dtp,),
        emulator="right",
        rate_hz=100.0,
        groups=(group,),
    )


def _destination_status() -> t.DestinationStatus:
    dtp = t.DestinationDtpStatus(
        id=2,
        module=1,
        expected=2400,
        complete=2398,
        partial=1,
        missing=1,
        lines_missing=4,
        counts=(t.Count(group="loss", name="lines", value=1), t.Count(group="loss", name="event", value=1)),
    )
    buffer = t.BufferStatus(
        name="full",
        sink_error="",
        unit="trigger graph on NVIDIA H200: as asked for",
        unit_error="",
        bytes_written=629145600,
        bytes_stored=104857600,
        books=t.Books(
            expected=2400, complete=2398, partial=1, missing=1, accepted=598, vetoed=1799, errored=2, written=598
        ),
        counts=(t.Count(group="veto", name="too_few", value=1799), t.Count(group="error", name="storage", value=2)),
        latencies=(
            t.Latency(stage="ready", count=240, p50=11.5, p99=80.25, max=412.0, sum=4100.5, below=(*range(24), 240)),
        ),
        dtps=(dtp,),
        to_write=10,
        first_errored=t.FirstErrored(index=70, frame=70, reason="storage", text="No space left on device"),
        limits=(
            t.LimitChange(
                time_ns=1764298000000000000,
                number=1,
                step="bragg_count",
                key="min_pixels",
                old="20",
                new="40",
                first_image=120,
                by="operator at the page",
            ),
        ),
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
                first=t.FirstErrored(index=70, frame=70, reason="storage", text="No space left on device"),
            ),
            t.SinkStatus(
                name="memory",
                on_full="drop",
                accepted=600,
                written=580,
                dropped=20,
                errored=0,
                waiting=0,
                bytes_written=608174080,
                bytes_stored=608174080,
                error="",
            ),
            t.SinkStatus(
                name="stream2",
                on_full="wait",
                accepted=600,
                written=598,
                dropped=2,
                errored=0,
                waiting=0,
                bytes_written=627048448,
                bytes_stored=106954752,
                error="",
                consumers=(
                    t.ConsumerStatus(endpoint="tcp://127.0.0.1:31001", connected=1, sent=598, missed=2),
                    t.ConsumerStatus(endpoint="tcp://127.0.0.1:31002", connected=0, sent=0, missed=600),
                ),
                restarts=3,
            ),
        ),
        slots=400,
        feedback=t.FeedbackStatus(
            ring="/rings/rashpa.hits",
            zmq="tcp://127.0.0.1:39001",
            published=2400,
            sent=2390,
            dropped=10,
            full=2,
            restarts=1,
        ),
        file="/data/first_light_full_master.h5",
    )
    first = "buffer full image 3 (frame 3): DTP 2 module 1 lost 4 lines"
    return t.DestinationStatus(
        receiver="whole",
        elapsed_s=24.0,
        memory="transparent-huge",
        first_incomplete=first,
        counts=(t.Count(group="link", name="packets", value=312000),),
        buffers=(buffer,),
    )


if __name__ == "__main__":
    for name, sample in telegram_samples().items():
        (Path(sys.argv[1]) / f"{name}.xml").write_bytes(encode(sample))
