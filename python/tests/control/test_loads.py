# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

from rashpa.control.capacity.loads import dtp_loads, file_bytes, memory_of
from rashpa.control.plan.run_plan import load_plan

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "06_two_receivers.toml"


def test_memory_is_that_of_slots_records_output_lists_and_tables() -> None:
    full, centre, raw = load_plan(EXAMPLE).buffers
    plan = load_plan(EXAMPLE)
    pixels = 1024 * 1060
    assert memory_of(plan, full) == {
        "images": 40 * pixels * 2,  # a whole number of pages
        "records": 2 * 8192,  # 40 of 128 bytes for each DTP
        "output": 40 * pixels * 2,
        "kernels": 24 * pixels,  # of jungfrau
        "tables": 600 * 2,
    }
    few = 256 * 164
    assert memory_of(plan, centre)["lists"] == 20 * 0.9 * few * (4 + 2)
    assert memory_of(plan, centre)["marks"] == 5 * few // 8
    assert memory_of(plan, raw) == {"images": 20 * 86016, "records": 2 * 4096, "tables": 120}


def test_sinks_that_may_drop_have_memory_of_their_own(tmp_path: Path) -> None:
    text = EXAMPLE.read_text().replace('kind = "memory"', 'kind = "memory"\non_full = "drop"\nqueue = 3')
    path = tmp_path / "drop.toml"
    path.write_text(text)
    plan = load_plan(path)
    assert memory_of(plan, plan.buffers[2])["copies for sinks"] == 3 * 5 * 256 * 164 * 2


def test_images_that_kernels_learn_from_lie_twice_where_sources_write_over_them(tmp_path: Path) -> None:
    text = EXAMPLE.read_text().replace('name = "jungfrau"\n', 'name = "jungfrau"\ntrack = "darks"\n')
    path = tmp_path / "learn.toml"
    for link, copies in {'kind = "roce"': 0, 'kind = "pcie"': 40 * 1024 * 1060 * 2}.items():
        path.write_text(f"{text}\n[link]\n{link}\n")
        plan = load_plan(path)
        assert memory_of(plan, plan.buffers[0]).get("copies for kernels", 0) == copies
        assert "copies for kernels" not in memory_of(plan, plan.buffers[2]), "no kernel, nothing is learned"


def test_queues_of_consumers_are_counted_as_if_nothing_were_compressed(tmp_path: Path) -> None:
    sink = 'kind = "stream2"\nconsumers = 3\nwaiting = 20'
    path = tmp_path / "stream.toml"
    path.write_text(EXAMPLE.read_text().replace('kind = "memory"', sink))
    plan = load_plan(path)
    assert memory_of(plan, plan.buffers[2])["queues of consumers"] == 3 * 20 * 256 * 164 * 2
    path.write_text(EXAMPLE.read_text().replace('kind = "memory"', sink.replace("20", "1000")))
    plan = load_plan(path)
    assert memory_of(plan, plan.buffers[2])["queues of consumers"] == 3 * 60 * 256 * 164 * 2, "the run has no more"


def test_files_hold_every_image_at_most_and_lists_in_place_of_pixels() -> None:
    plan = load_plan(EXAMPLE)
    full, centre, raw = plan.buffers
    assert file_bytes(plan, full) == 600 * 1024 * 1060 * 2
    assert file_bytes(plan, centre) == int(60 * 256 * 164 * 0.9 * 6)
    assert file_bytes(plan, raw) == 0


def test_rates_are_those_of_the_slice() -> None:
    loads = dtp_loads(load_plan(EXAMPLE))
    assert [load.images_per_s for load in loads] == [100, 100, 10, 10, 10, 10]
    assert loads[2].bytes_per_s == 10 * 256 * 64 * 2
