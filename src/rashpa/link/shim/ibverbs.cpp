// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/shim/ibverbs.hpp"

#include "rashpa/core/libraries/shared_library.hpp"

namespace rashpa::link::shim {

// dlsym alone may give a function for the tables of 2005 (IBVERBS_1.0): versions are named.
Ibverbs load_ibverbs(const char* file) {
  const SharedLibrary library(
      file, "install libibverbs1 and ibverbs-providers (rdma-core 32 or later), or set link.kind = \"roce\"");
  Ibverbs table;
  library.load(table.get_device_list, "ibv_get_device_list", "IBVERBS_1.1");
  library.load(table.free_device_list, "ibv_free_device_list", "IBVERBS_1.1");
  library.load(table.get_device_name, "ibv_get_device_name", "IBVERBS_1.1");
  library.load(table.open_device, "ibv_open_device", "IBVERBS_1.1");
  library.load(table.close_device, "ibv_close_device", "IBVERBS_1.1");
  library.load(table.query_device, "ibv_query_device", "IBVERBS_1.1");
  library.load(table.query_port, "ibv_query_port", "IBVERBS_1.1");
  library.load(table.query_gid_table, "_ibv_query_gid_table", "IBVERBS_1.11");
  library.load(table.alloc_pd, "ibv_alloc_pd", "IBVERBS_1.1");
  library.load(table.dealloc_pd, "ibv_dealloc_pd", "IBVERBS_1.1");
  library.load(table.reg_mr, "ibv_reg_mr", "IBVERBS_1.1");
  library.load(table.dereg_mr, "ibv_dereg_mr", "IBVERBS_1.1");
  library.load(table.create_comp_channel, "ibv_create_comp_channel", "IBVERBS_1.0");
  library.load(table.destroy_comp_channel, "ibv_destroy_comp_channel", "IBVERBS_1.0");
  library.load(table.create_cq, "ibv_create_cq", "IBVERBS_1.1");
  library.load(table.destroy_cq, "ibv_destroy_cq", "IBVERBS_1.1");
  library.load(table.get_cq_event, "ibv_get_cq_event", "IBVERBS_1.1");
  library.load(table.ack_cq_events, "ibv_ack_cq_events", "IBVERBS_1.1");
  library.load(table.create_qp, "ibv_create_qp", "IBVERBS_1.1");
  library.load(table.modify_qp, "ibv_modify_qp", "IBVERBS_1.1");
  library.load(table.destroy_qp, "ibv_destroy_qp", "IBVERBS_1.1");
  library.load(table.wc_status_str, "ibv_wc_status_str", "IBVERBS_1.1");
  library.load_if_any(table.reg_mr_iova2, "ibv_reg_mr_iova2", "IBVERBS_1.8");
  library.load_if_any(table.reg_dmabuf_mr, "ibv_reg_dmabuf_mr", "IBVERBS_1.12");
  return table;
}

const Ibverbs& ibverbs() {
  static const Ibverbs table = load_ibverbs("libibverbs.so.1");
  return table;
}

}  // namespace rashpa::link::shim
