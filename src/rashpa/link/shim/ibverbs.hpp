// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Access to libibverbs through a table of function pointers, so that one binary starts with and without the library.
/// Calls that the header defines inline over the device's own table (ibv_post_send, ibv_post_recv, ibv_poll_cq,
/// ibv_req_notify_cq) need no entry here.
#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

namespace rashpa::link::shim {

/// The exported functions that we use, each in the version for which the table was made.
struct Ibverbs {
  ibv_device** (*get_device_list)(int* count) = nullptr;
  void (*free_device_list)(ibv_device** list) = nullptr;
  const char* (*get_device_name)(ibv_device* device) = nullptr;
  ibv_context* (*open_device)(ibv_device* device) = nullptr;
  int (*close_device)(ibv_context* context) = nullptr;
  int (*query_device)(ibv_context* context, ibv_device_attr* attributes) = nullptr;
  /// Fills the first part of an ibv_port_attr, up to link_layer; set the rest to zero before.
  int (*query_port)(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes) = nullptr;
  ssize_t (*query_gid_table)(ibv_context* context, ibv_gid_entry* entries, std::size_t room, std::uint32_t flags,
                             std::size_t entry_bytes) = nullptr;
  ibv_pd* (*alloc_pd)(ibv_context* context) = nullptr;
  int (*dealloc_pd)(ibv_pd* domain) = nullptr;
  ibv_mr* (*reg_mr)(ibv_pd* domain, void* data, std::size_t bytes, int access) = nullptr;
  int (*dereg_mr)(ibv_mr* region) = nullptr;
  ibv_comp_channel* (*create_comp_channel)(ibv_context* context) = nullptr;
  int (*destroy_comp_channel)(ibv_comp_channel* channel) = nullptr;
  ibv_cq* (*create_cq)(ibv_context* context, int entries, void* user, ibv_comp_channel* channel, int vector) = nullptr;
  int (*destroy_cq)(ibv_cq* queue) = nullptr;
  int (*get_cq_event)(ibv_comp_channel* channel, ibv_cq** queue, void** user) = nullptr;
  void (*ack_cq_events)(ibv_cq* queue, unsigned events) = nullptr;
  ibv_qp* (*create_qp)(ibv_pd* domain, ibv_qp_init_attr* attributes) = nullptr;
  int (*modify_qp)(ibv_qp* pair, ibv_qp_attr* attributes, int mask) = nullptr;
  int (*destroy_qp)(ibv_qp* pair) = nullptr;
  const char* (*wc_status_str)(ibv_wc_status status) = nullptr;

  // Null where the library is older.
  ibv_mr* (*reg_mr_iova2)(ibv_pd* domain, void* data, std::size_t bytes, std::uint64_t iova, unsigned access) = nullptr;
  ibv_mr* (*reg_dmabuf_mr)(ibv_pd* domain, std::uint64_t offset, std::size_t bytes, std::uint64_t iova, int fd,
                           int access) = nullptr;
};

/// Returns the table, and loads the library at the first call. Any thread. Throws ResourceError at each call when this
/// machine lacks the library.
const Ibverbs& ibverbs();

/// Loads the table from another file, for tests.
Ibverbs load_ibverbs(const char* file);

}  // namespace rashpa::link::shim
