// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nanobind/nanobind.h>

namespace rashpa::bindings {

/// One function a file of this folder; each adds the names of one folder of src/rashpa to the module `m`.
void bind_core(nanobind::module_& m);
void bind_log(nanobind::module_& m);
void bind_dataset(nanobind::module_& m);
void bind_kernel(nanobind::module_& m);
void bind_python_kernel(nanobind::module_& m);
void bind_sink(nanobind::module_& m);
void bind_codec(nanobind::module_& m);
void bind_view(nanobind::module_& m);
void bind_group(nanobind::module_& m);
void bind_emulator(nanobind::module_& m);
void bind_feedback(nanobind::module_& m);
void bind_journal(nanobind::module_& m);
void bind_receiver(nanobind::module_& m);
void bind_sections(nanobind::module_& m);
void bind_offline(nanobind::module_& m);
void bind_packet(nanobind::module_& m);

}  // namespace rashpa::bindings
