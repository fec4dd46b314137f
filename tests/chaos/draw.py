# SPDX-License-Identifier: Apache-2.0
"""Draws random plans. The same seed and number give the same plan on every machine and in every order."""

from dataclasses import replace
from random import Random

from tests.chaos.plan import (
    SIGNALS,
    STORAGE,
    Blow,
    Buffer,
    Disturbance,
    Faults,
    Flow,
    Kernel,
    Kind,
    Link,
    Phase,
    Piece,
    Pixel,
    Plan,
    Rect,
    Standstill,
    StillTarget,
    Target,
    Transport,
)

PIXELS: tuple[Pixel, ...] = ("uint8", "uint16", "uint32", "int16", "int32", "float32")
TRANSPORTS: tuple[Transport, ...] = ("uc", "rc", "ud")
# A run that is not disturbed is worth as much as one that is: every third.
KINDS: dict[Kind, int] = {
    "none": 33,
    "kill": 10,
    "stop": 4,
    "pause": 8,
    "terminate": 8,
    "interrupt": 8,
    "disk_full": 6,
    "failing_writes": 6,
    "slow_writes": 5,
    "folder_removed": 4,
    "port_taken": 3,
    "replace_killed": 5,
    "members": 12,
    "still": 12,
    "unheard": 4,
    "neighbours": 4,
    "pairs": 4,
}
PRIMES = (
    7,
    11,
    13,
    17,
    19,
    23,
)  # of different frames: an image in a wrong slot is never by chance that of another frame


def draw(seed: int, number: int, kind: Kind | None = None) -> Plan:
    """Return plan `number` of `seed`; `kind` fixes the kind of disturbance."""
    dice = Random(f"rashpa chaos {seed} {number}")
    drawn = dice.choices(list(KINDS), list(KINDS.values()))[0]
    kind = kind or drawn
    slow = kind == "slow_writes"  # images wait long in their slots: a source that does not wait may come round to them
    link: Link = "pcie" if dice.random() < (0.5 if slow else 0.25) else "roce"
    if kind == "port_taken":
        link = "roce"
    transport = dice.choices(TRANSPORTS, (5, 3, 2))[0] if link == "roce" else "uc"
    jungfrau = dice.random() < 0.4
    big = kind == "disk_full"
    writes = kind in ("failing_writes", "slow_writes")  # by the environment of the nodes that a run starts
    width = dice.randint(100, 200) if big else dice.randint(8, 180)
    height = dice.randint(64, 128) if big else dice.randint(3, 64)
    modules = _modules(dice, width, height)
    disturbed = kind not in ("none", "port_taken")
    rate = round(dice.uniform(40, 300), 1) if disturbed or dice.random() < 0.4 else 0.0
    frames = int(rate * dice.uniform(1.5, 3.5)) if rate else dice.randint(60, 1200)
    receivers = 2 if dice.random() < 0.3 else 1
    geometry = (width, height, modules)
    buffers = tuple(
        _buffer(dice, number, geometry, frames, jungfrau, number % receivers)
        for number in range(max(receivers, dice.choice((1, 1, 2, 3))))
    )
    if kind == "members":
        return _grouped(dice, draw(seed, number, "none"))
    if kind == "still":
        return _still(dice, draw(seed, number, "none"))
    if kind == "unheard":
        return _unheard(dice, draw(seed, number, "none"))
    if kind == "neighbours":
        return _beside(dice, draw(seed, number, "none"))
    if kind == "pairs":
        return _pair(dice, draw(seed, number, "none"))
    flow: Flow = "paced" if dice.random() < (0.5 if slow else 0.25) else "credits"
    return Plan(
        seed=seed,
        number=number,
        link=link,
        transport=transport,
        packetisation="only" if transport == "ud" else dice.choice(("only", "first_middle_last")),
        pmtu=dice.choice((256, 512, 1024, 2048, 4096)),
        flow=flow,
        on_full="skip" if dice.random() < (0.3 if rate else 0.1) else "pause",
        window_bytes=dice.choice((1 << 16, 1 << 20)),
        icrc="modulo_id" if transport == "rc" else dice.choice(("modulo_id", "modulo_id", "off")),
        poll="spin" if dice.random() < 0.1 else "event",
        memory=dice.choice(("pageable", "huge")),
        gso=dice.random() < 0.7,
        gro=dice.random() < 0.7,
        link_threads=min(dice.choice((1, 1, 2, 3)), *(_dtps(buffers, receiver) for receiver in range(receivers))),
        fixed_port=kind == "port_taken" or (link == "roce" and dice.random() < 0.2),
        receivers=receivers,
        nodes=dice.choices(("local", "url", "mixed"), (1, 0, 0) if writes else (7, 2, 1))[0],
        width=width,
        height=height,
        pixel="uint16" if jungfrau else dice.choice(PIXELS),
        jungfrau=jungfrau,
        modules=modules,
        frames=frames,
        dataset_frames=dice.choice(PRIMES),
        dark_every=dice.choice((0, 0, 5, 9)),
        stored_as=dice.choice(("npy", "bin")),
        header_bytes=dice.choice((0, 112)),
        rate_hz=rate,
        buffers=buffers,
        faults=_faults(dice, link, len(modules), frames) if dice.random() < 0.4 else Faults(),
        disturbance=_disturbance(dice, kind, frames / rate if rate else 1.0, (width, height, frames, len(modules))),
    )


def _grouped(dice: Random, plan: Plan) -> Plan:
    """Return a plan with its first buffer dealt among receivers, of which at least one survives. Only packets have faults."""
    members = dice.randint(2, 4)
    rate = round(dice.uniform(100, 300), 1)
    frames = int(rate * dice.uniform(3.5, 5.0))
    kernel: Kernel = dice.choice(("raw", "photons", "kev")) if plan.jungfrau else "raw"
    stack = dice.choice((1, 2, 5))
    buffer = replace(
        plan.buffers[0],
        receiver=0,
        slots=stack * dice.randint(4, 8),
        stack=stack,
        every=dice.choice((1, 1, 2)),
        phase=0,
        partial="keep",
        keep_darks=True,
        kernel=kernel,
        threads=1,
        images_per_file=50,
    )
    faults = Faults(seed=dice.randrange(1 << 32), drop=0.001, corrupt=0.001) if dice.random() < 0.3 else Faults()
    return replace(
        plan,
        flow="credits",
        on_full="pause",
        poll="event",
        link_threads=1,
        fixed_port=False,
        receivers=members,
        nodes="local",
        frames=frames,
        rate_hz=rate,
        buffers=(buffer,),
        faults=faults if plan.link == "roce" else Faults(),
        disturbance=Disturbance(kind="members", target="receiver"),
        blows=_blows(dice, members),
        grouped=True,
    )


def _unheard(dice: Random, plan: Plan) -> Plan:
    """Return a plan of a group with a member that is killed before its first status."""
    return replace(
        _grouped(dice, plan),
        blows=(),
        disturbance=Disturbance(
            kind="unheard",
            target="receiver",
            which=dice.randrange(4),
            after_s=dice.choice((0.0, 0.0, round(dice.uniform(0.0, 0.3), 3))),
        ),
    )


def _beside(dice: Random, plan: Plan) -> Plan:
    """Return a plan of a run beside which foreign files appear; `amount`: their seed."""
    rate = round(dice.uniform(50, 200), 1)
    return replace(
        plan,
        flow="credits",
        on_full="pause",
        frames=int(rate * dice.uniform(4.0, 7.0)),
        rate_hz=rate,
        buffers=tuple(replace(buffer, phase=0) for buffer in plan.buffers),
        disturbance=Disturbance(kind="neighbours", amount=dice.randrange(1 << 32)),
    )


def _pair(dice: Random, plan: Plan) -> Plan:
    """Return the second of two runs of one name with killed processes; pairs.py draws the first run, and the moments."""
    if dice.random() < 0.6:
        plan = replace(_grouped(dice, plan), blows=())
    rate = round(dice.uniform(100, 300), 1)
    return replace(
        plan,
        flow="credits",
        on_full="pause",
        nodes="local",
        fixed_port=False,
        jungfrau=False,
        frames=int(rate * dice.uniform(0.7, 2.0)),
        rate_hz=rate,
        buffers=tuple(replace(buffer, kernel="raw", phase=0) for buffer in plan.buffers),
        faults=Faults(),
        disturbance=Disturbance(kind="pairs"),
    )


def _still(dice: Random, plan: Plan) -> Plan:
    """Return a plan with processes that are stopped for a while. With credits and without faults, no image may be lost."""
    if dice.random() < 0.25:
        plan = replace(_grouped(dice, plan), blows=())
    rate = round(dice.uniform(50, 300), 1)
    stills = _stills(dice)
    seconds = sum(still.after_s for still in stills) + dice.uniform(0.5, 1.5)
    return replace(
        plan,
        flow="credits",
        on_full="pause",
        poll="event",
        frames=int(rate * seconds),
        rate_hz=rate,
        buffers=tuple(replace(buffer, deadline_ms=500, phase=0) for buffer in plan.buffers),
        faults=Faults(),
        disturbance=Disturbance(kind="still"),
        stills=stills,
    )


def _stills(dice: Random) -> tuple[Standstill, ...]:
    targets: tuple[StillTarget, ...] = ("manager", "emulator", "receiver", "page", "helper")
    chosen = dice.choices(targets, (3, 3, 4, 1, 1), k=dice.choice((1, 2, 2, 3)))
    return tuple(
        Standstill(target, dice.randrange(4), round(dice.uniform(0.2, 1.2), 2), dice.choice((1.0, 2.0, 3.0, 5.0)))
        for target in chosen
    )


def _blows(dice: Random, members: int) -> tuple[Blow, ...]:
    order = dice.sample(range(members), members)
    blows = [
        Blow(
            dice.choice(("kill", "kill", "stop", "pause")),
            member,
            round(dice.uniform(0.0, 2.5), 2),
            dice.choice((0.3, 1.0)),
        )
        for member in order[: dice.randint(1, members - 1)]
    ]
    if dice.random() < 0.4:
        blows.append(Blow("join", members, round(dice.uniform(0.0, 1.5), 2)))
    return tuple(sorted(blows, key=lambda blow: blow.after_s))


def _dtps(buffers: tuple[Buffer, ...], receiver: int) -> int:
    """Return the number of DTPs of one receiver, which limits its threads."""
    return sum(len(buffer.pieces) * buffer.bands for buffer in buffers if buffer.receiver == receiver)


def _modules(dice: Random, width: int, height: int) -> tuple[tuple[int, int], ...]:
    """Return the places of modules below or beside each other, with gaps."""
    count, gap = dice.choice((1, 1, 2, 2, 3)), dice.choice((0, 1, 5))
    if dice.random() < 0.5:
        return tuple((0, number * (height + gap)) for number in range(count))
    return tuple((number * (width + gap), 0) for number in range(count))


def _buffer(
    dice: Random,
    number: int,
    geometry: tuple[int, int, tuple[tuple[int, int], ...]],
    frames: int,
    jungfrau: bool,
    receiver: int,
) -> Buffer:
    width, height, modules = geometry
    region: Rect | None = None
    by_hand = dice.random() < 0.15
    bands = 1
    if by_hand:
        pieces = _pieces_by_hand(dice, width, height, len(modules))
        size = max(one.x + one.part.width for one in pieces), max(one.y + one.part.height for one in pieces)
    else:
        whole = Rect(0, 0, max(x for x, _ in modules) + width, max(y for _, y in modules) + height)
        region = _region(dice, whole, dice.choice(modules)) if number and dice.random() < 0.7 else None
        pieces = _pieces(width, height, modules, region or whole)
        size = (region or whole).width, (region or whole).height
        bands = min(dice.choice((1, 1, 2, 3)), *(piece.part.height for piece in pieces))
    stack = dice.choice((1, 2, 3, 5, 8, 10))
    every = dice.choice((1, 1, 1, 2, 3, 7))
    kernel: Kernel = dice.choice(("raw", "photons", "photons", "kev", "veto", "csr")) if jungfrau else "raw"
    return Buffer(
        name=f"b{number}",
        receiver=receiver,
        region=region,
        by_hand=by_hand,
        pieces=pieces,
        width=size[0],
        height=size[1],
        bands=bands,
        every=every,
        phase=dice.randrange(min(every, frames)),
        slots=stack * dice.randint(2, 6),
        stack=stack,
        deadline_ms=2000,  # longer than a busy machine keeps a thread waiting: a late image counts as missing
        partial="veto" if dice.random() < 0.2 else "keep",
        keep_darks=dice.random() < 0.5,
        kernel=kernel,
        threads=dice.choice((1, 1, 2)),
        images_per_file=dice.choice((7, 50, 1000)),
        sink_threads=dice.choice((1, 1, 2)),
        min_bright=int(sum(piece.part.width * piece.part.height for piece in pieces) * dice.uniform(0.1, 0.9)),
    )


def _region(dice: Random, whole: Rect, module: tuple[int, int]) -> Rect:
    """Return a region with at least one pixel of the module, so that it is not empty."""
    left, top = dice.randint(0, module[0]), dice.randint(0, module[1])
    right = dice.randint(module[0] + 1, whole.width)
    bottom = dice.randint(module[1] + 1, whole.height)
    return Rect(left, top, right - left, bottom - top)


def _pieces(width: int, height: int, modules: tuple[tuple[int, int], ...], region: Rect) -> tuple[Piece, ...]:
    pieces = []
    for module, (x, y) in enumerate(modules):
        common = Rect(x, y, width, height).common(region)
        if common is not None:
            part = Rect(common.x - x, common.y - y, common.width, common.height)
            pieces.append(Piece(module, part, common.x - region.x, common.y - region.y))
    return tuple(pieces)


def _pieces_by_hand(dice: Random, width: int, height: int, modules: int) -> tuple[Piece, ...]:
    """Return one rectangle of each of some modules, side by side with gaps, in random order of modules."""
    chosen = dice.sample(range(modules), dice.randint(1, modules))
    pieces, x = [], dice.randint(0, 3)
    for module in chosen:
        left, top = dice.randrange(width), dice.randrange(height)
        part = Rect(left, top, dice.randint(1, width - left), dice.randint(1, height - top))
        pieces.append(Piece(module, part, x, dice.randint(0, 4)))
        x += part.width + dice.randint(0, 3)
    return tuple(pieces)


def _faults(dice: Random, link: str, modules: int, frames: int) -> Faults:
    packets = link == "roce"
    chances = (0.0, 0.001, 0.01)
    return Faults(
        seed=dice.randrange(1 << 32),
        drop=dice.choice(chances) if packets else 0.0,
        duplicate=dice.choice(chances) if packets else 0.0,
        reorder=dice.choice(chances) if packets else 0.0,
        corrupt=dice.choice(chances) if packets else 0.0,
        stall=dice.choice((0.0, 0.01)),
        stall_us=dice.choice((300, 5000)),
        dead=((dice.randrange(modules), dice.randrange(frames)),) if dice.random() < 0.35 else (),
    )


def _disturbance(dice: Random, kind: Kind, seconds: float, size: tuple[int, int, int, int]) -> Disturbance:
    width, height, frames, modules = size
    target: Target = dice.choice(("manager", "emulator", "receiver", "receiver"))
    phase: Phase = "starting" if dice.random() < 0.25 and kind in SIGNALS else "running"
    after = dice.uniform(0.0, 1.2) if phase == "starting" else dice.uniform(0.0, 0.8 * seconds)
    amount = {
        "disk_full": int(width * height * 2 * frames * modules * dice.uniform(0.2, 0.7)) + 300_000,
        "failing_writes": dice.randint(1, 300),
        "slow_writes": dice.randint(500, 8000),
    }.get(kind, 0)
    if kind == "interrupt":
        target = "manager"
    elif kind in STORAGE:
        target = "receiver"
    return Disturbance(
        kind=kind,
        target=target,
        which=dice.randrange(2),
        phase=phase,
        after_s=round(after, 3),
        resume_s=round(dice.uniform(0.3, 6.0), 2) if kind == "pause" else 0.0,
        amount=amount,
    )
