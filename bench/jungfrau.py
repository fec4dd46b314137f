# SPDX-License-Identifier: Apache-2.0
"""Compares the kernel jungfrau with a copy past the caches and with aare, on one machine in one run; results are compared before speed.

Usage: .venv/bin/python bench/jungfrau.py [--stack 16] [--modules 8] [--threads 2] [--json FILE]. aare runs in a separate environment
(tools/peer_environment.sh aare).
"""

import argparse
import json
import statistics
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rashpa.control.nodes.machine import measured, write_measured
from rashpa.data.datasets.calibration import Calibration
from rashpa.data.datasets.datasets import dataset_from_spec
from rashpa.data.kernels.pipeline import Pipeline

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = ROOT / "build/release/bench/rashpa_cpu_unit_bench"
ENERGY = 12.4
PITCH = 550
BARS = {
    "jungfrau to photons": ("of the copy past the caches", 0.8),
    "beside aare": ("times aare", 8.0),
    "assembled beside aare": ("times aare and NumPy", 5.0),
    "tracking": ("times without", 1.15),
}


@dataclass
class Data:
    raw: NDArray[np.uint16]
    maps: Calibration


def frames(stack: int, modules: int) -> Data:
    """Return simulated frames, labelled as synthetic, of modules one below the other."""
    spec = {"kind": "jungfrau", "modules": modules, "frames": stack, "energy_kev": ENERGY, "dark_every": 0}
    loaded = dataset_from_spec(spec, Path.cwd())
    made = loaded.dataset
    raw = np.stack([np.concatenate([made.frame(m, n) for m in range(modules)]) for n in range(stack)])
    maps = [
        np.concatenate([getattr(one, name) for one in loaded.calibration], axis=-2)
        for name in ("pedestal", "gain", "mask")
    ]
    return Data(raw, Calibration(*maps))


def apart(data: Data) -> Data:
    """Return the same frames with a detector's gaps between modules."""
    modules = data.raw.shape[1] // 512
    height = PITCH * (modules - 1) + 512

    def spread(values: NDArray[np.generic], fill: float) -> NDArray[np.generic]:
        out = np.full((*values.shape[:-2], height, 1024), fill, values.dtype)
        for module in range(modules):
            out[..., module * PITCH : module * PITCH + 512, :] = values[..., module * 512 : (module + 1) * 512, :]
        return out

    maps = data.maps
    return Data(
        spread(data.raw, 0xFFFF), Calibration(spread(maps.pedestal, 0), spread(maps.gain, 0), spread(maps.mask, 1))
    )


def check(data: Data, folder: Path, threads: int) -> None:
    """Check that photons equal aare's rounded ones wherever both have a value, and that assembled photons equal NumPy's assembly of them."""
    kernel = {"name": "jungfrau", "photon_energy_kev": ENERGY}
    ours = Pipeline([kernel], data.raw.shape[1:], calibration=data.maps, threads=threads)(data.raw).pixels
    code = data.raw >> 14
    special = (
        np.isin(data.raw, (0xFFFF, 0x4000, 0xC000))
        | (code == 2)
        | (data.maps.mask != 0)
        | (abs(ours.astype(np.int32)) > 32000)
    )
    exact = np.load(folder / "aare.npy")
    theirs = np.rint(exact)
    special |= np.abs(exact - np.floor(exact) - 0.5) < 1e-3  # aare divides, which may round the other way at a half
    if not np.array_equal(ours[~special], theirs[~special]):
        raise SystemExit("photons differ from aare's")
    far = apart(data)
    modules = [(0, number * PITCH) for number in range(data.raw.shape[1] // 512)]
    pipeline = Pipeline(
        [{**kernel, "borders": "shared"}], far.raw.shape[1:], calibration=far.maps, threads=threads, modules=modules
    )
    assembled = pipeline(far.raw).pixels
    expected = np.load(folder / "assembled.npy")
    same = np.mean(assembled == expected)
    if assembled.shape != expected.shape or same < 0.999:  # aare has no special codes
        raise SystemExit(f"assembled images differ from the NumPy assembly: {assembled.shape}, {same:.6f} equal")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in (("stack", 16), ("modules", 8), ("threads", 2), ("rounds", 3)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    python = subprocess.run(
        [ROOT / "tools/peer_environment.sh", "aare"], check=True, capture_output=True, text=True
    ).stdout.strip()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = frames(chosen.stack, chosen.modules)
        maps = data.maps
        factor = (maps.gain.astype(np.float64) * ENERGY).astype(np.float32)  # aare divides by it
        for key, values in (("raw", data.raw), ("pedestal", maps.pedestal), ("factor", factor), ("mask", maps.mask)):
            np.save(folder / f"{key}.npy", values)
        peers, ours = [], []
        for number in range(chosen.rounds):
            peers.append(_json([python, ROOT / "bench/peers/aare_jungfrau.py", folder, chosen.threads, 3]))
            if number == 0:
                check(data, folder, chosen.threads)
            options = [f"--{key}={getattr(chosen, key)}" for key in ("stack", "modules", "threads")]
            ours.append(_json([PROGRAM, *(part for option in options for part in option.split("="))])["rows"])
    rows = [
        {**one, **{key: statistics.median(run[at][key] for run in ours) for key in ("value", "against_value", "ratio")}}
        for at, one in enumerate(ours[0])
    ]
    for what, key, name in (
        ("beside aare", "convert", "jungfrau to photons, "),
        ("assembled beside aare", "assembled", "jungfrau to photons, assembled"),
    ):
        our = next(number for number, one in enumerate(ours[0]) if str(one["what"]).startswith(name))
        speed = statistics.median(one["bytes"] / one[key] for one in peers) * 1e-9
        against = "aare" if key == "convert" else "aare, then assembled by NumPy"
        rows.append(
            {
                "what": f"{rows[our]['what']}, {what}",
                "value": rows[our]["value"],
                "unit": "GB/s",
                "against": against,
                "against_value": speed,
                "ratio": rows[our]["value"] / speed,
            }
        )
    for row in rows:
        print(
            f"{row['what']}: {row['value']:.2f} {row['unit']}, {row['against']} {row['against_value']:.2f}, ratio {row['ratio']:.3f}"
        )
    if chosen.json:
        write_measured(chosen.json, measured("jungfrau beside its floor and aare", rows, bars=BARS))


def _json(command: list[object]) -> dict[str, list[dict[str, float]]]:
    found: dict[str, list[dict[str, float]]] = json.loads(
        subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout
    )
    return found


if __name__ == "__main__":
    main()
