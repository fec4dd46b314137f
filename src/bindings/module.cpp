/// The native module rashpa._native. Its interface is python/rashpa/_native.pyi.
#include "bindings.hpp"

NB_MODULE(_native, m) {
  using namespace rashpa::bindings;
  m.attr("__version__") = RASHPA_VERSION;
#ifdef RASHPA_BIND_CORE
  bind_core(m);
#endif
#ifdef RASHPA_BIND_DATASET
  bind_dataset(m);
#endif
#ifdef RASHPA_BIND_EMULATOR
  bind_emulator(m);
#endif
#ifdef RASHPA_BIND_RECEIVER
  bind_receiver(m);
#endif
#ifdef RASHPA_BIND_PACKET
  bind_packet(m);
#endif
}
