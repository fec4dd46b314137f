// SPDX-License-Identifier: Apache-2.0
/// The native module rashpa._native. Its interface is python/rashpa/_native.pyi.
#include "bindings/bindings.hpp"

NB_MODULE(_native, m) {
  using namespace rashpa::bindings;
  m.attr("__version__") = RASHPA_VERSION;
  bind_core(m);
  bind_log(m);
  bind_dataset(m);
  bind_kernel(m);
  bind_python_kernel(m);
  bind_sink(m);
  bind_codec(m);
  bind_view(m);
  bind_group(m);
  bind_emulator(m);
  bind_feedback(m);
  bind_journal(m);
  bind_receiver(m);
  bind_sections(m);
  bind_offline(m);
  bind_packet(m);
}
