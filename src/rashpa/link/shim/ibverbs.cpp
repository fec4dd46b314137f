// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/shim/ibverbs.hpp"

#include "rashpa/core/shared_library.hpp"

namespace rashpa::link::shim {

namespace {

template <typename Function>
void load(Function*& out, const SharedLibrary& library, const char* name, const char* version) {
  out = reinterpret_cast<Function*>(library.symbol(name, version));
}

template <typename Function>
void load_if_any(Function*& out, const SharedLibrary& library, const char* name, const char* version) {
  out = reinterpret_cast<Function*>(library.symbol_if_any(name, version));
}

}  // namespace

// dlsym alone may give a function for the tables of 2005 (IBVERBS_1.0): versions are named.
Ibverbs load_ibverbs(const char* file) {
  const SharedLibrary library(
      file, "install libibverbs1 and ibverbs-providers (rdma-core 32 or later), or set link.kind = \"roce\"");
  Ibverbs table;
  load(table.get_device_list, library, "ibv_get_device_list", "IBVERBS_1.1");
  load(table.free_device_list, library, "ibv_free_device_list", "IBVERBS_1.1");
  load(table.get_device_name, library, "ibv_get_device_name", "IBVERBS_1.1");
  load(table.open_device, library, "ibv_open_device", "IBVERBS_1.1");
  load(table.close_device, library, "ibv_close_device", "IBVERBS_1.1");
  load(table.query_device, library, "ibv_query_device", "IBVERBS_1.1");
  load(table.query_port, library, "ibv_query_port", "IBVERBS_1.1");
  load(table.query_gid_table, library, "_ibv_query_gid_table", "IBVERBS_1.11");
  load(table.alloc_pd, library, "ibv_alloc_pd", "IBVERBS_1.1");
  load(table.dealloc_pd, library, "ibv_dealloc_pd", "IBVERBS_1.1");
  load(table.reg_mr, library, "ibv_reg_mr", "IBVERBS_1.1");
  load(table.dereg_mr, library, "ibv_dereg_mr", "IBVERBS_1.1");
  load(table.create_comp_channel, library, "ibv_create_comp_channel", "IBVERBS_1.0");
  load(table.destroy_comp_channel, library, "ibv_destroy_comp_channel", "IBVERBS_1.0");
  load(table.create_cq, library, "ibv_create_cq", "IBVERBS_1.1");
  load(table.destroy_cq, library, "ibv_destroy_cq", "IBVERBS_1.1");
  load(table.get_cq_event, library, "ibv_get_cq_event", "IBVERBS_1.1");
  load(table.ack_cq_events, library, "ibv_ack_cq_events", "IBVERBS_1.1");
  load(table.create_qp, library, "ibv_create_qp", "IBVERBS_1.1");
  load(table.modify_qp, library, "ibv_modify_qp", "IBVERBS_1.1");
  load(table.destroy_qp, library, "ibv_destroy_qp", "IBVERBS_1.1");
  load(table.wc_status_str, library, "ibv_wc_status_str", "IBVERBS_1.1");
  load_if_any(table.reg_mr_iova2, library, "ibv_reg_mr_iova2", "IBVERBS_1.8");
  load_if_any(table.reg_dmabuf_mr, library, "ibv_reg_dmabuf_mr", "IBVERBS_1.12");
  return table;
}

const Ibverbs& ibverbs() {
  static const Ibverbs table = load_ibverbs("libibverbs.so.1");
  return table;
}

}  // namespace rashpa::link::shim
