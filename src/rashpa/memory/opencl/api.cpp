// SPDX-License-Identifier: Apache-2.0
#include "rashpa/memory/opencl/api.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "rashpa/core/error.hpp"
#include "rashpa/core/libraries/shared_library.hpp"

namespace rashpa::memory::opencl {

Api load_api(const char* file) {
  const SharedLibrary library(
      file, "install ocl-icd-libopencl1 and a driver (pocl-opencl-icd runs on processors), or use unit cpu");
  Api table;
  library.load(table.get_platforms, "clGetPlatformIDs");
  library.load(table.get_platform_info, "clGetPlatformInfo");
  library.load(table.get_devices, "clGetDeviceIDs");
  library.load(table.get_device_info, "clGetDeviceInfo");
  library.load(table.create_context, "clCreateContext");
  library.load(table.release_context, "clReleaseContext");
  library.load(table.create_queue, "clCreateCommandQueue");
  library.load(table.release_queue, "clReleaseCommandQueue");
  library.load(table.create_buffer, "clCreateBuffer");
  library.load(table.release_memory, "clReleaseMemObject");
  library.load(table.create_program, "clCreateProgramWithSource");
  library.load(table.build_program, "clBuildProgram");
  library.load(table.get_build_info, "clGetProgramBuildInfo");
  library.load(table.release_program, "clReleaseProgram");
  library.load(table.create_kernel, "clCreateKernel");
  library.load(table.release_kernel, "clReleaseKernel");
  library.load(table.set_argument, "clSetKernelArg");
  library.load(table.run_kernel, "clEnqueueNDRangeKernel");
  library.load(table.write_buffer, "clEnqueueWriteBuffer");
  library.load(table.read_buffer, "clEnqueueReadBuffer");
  library.load(table.fill_buffer, "clEnqueueFillBuffer");
  library.load(table.map_buffer, "clEnqueueMapBuffer");
  library.load(table.unmap, "clEnqueueUnmapMemObject");
  library.load(table.marker, "clEnqueueMarkerWithWaitList");
  library.load(table.barrier, "clEnqueueBarrierWithWaitList");
  library.load(table.get_event_info, "clGetEventInfo");
  library.load(table.release_event, "clReleaseEvent");
  library.load(table.flush, "clFlush");
  library.load(table.finish, "clFinish");
  return table;
}

const Api& api() {
  static const Api table = load_api("libOpenCL.so.1");
  return table;
}

std::string error_text(cl_int code) {
  constexpr std::array kNames{
      std::pair{CL_DEVICE_NOT_FOUND, "CL_DEVICE_NOT_FOUND"},
      std::pair{CL_DEVICE_NOT_AVAILABLE, "CL_DEVICE_NOT_AVAILABLE"},
      std::pair{CL_COMPILER_NOT_AVAILABLE, "CL_COMPILER_NOT_AVAILABLE"},
      std::pair{CL_MEM_OBJECT_ALLOCATION_FAILURE, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
      std::pair{CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES"},
      std::pair{CL_OUT_OF_HOST_MEMORY, "CL_OUT_OF_HOST_MEMORY"},
      std::pair{CL_BUILD_PROGRAM_FAILURE, "CL_BUILD_PROGRAM_FAILURE"},
      std::pair{CL_MAP_FAILURE, "CL_MAP_FAILURE"},
      std::pair{CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
      std::pair{CL_INVALID_VALUE, "CL_INVALID_VALUE"},
      std::pair{CL_INVALID_DEVICE, "CL_INVALID_DEVICE"},
      std::pair{CL_INVALID_CONTEXT, "CL_INVALID_CONTEXT"},
      std::pair{CL_INVALID_COMMAND_QUEUE, "CL_INVALID_COMMAND_QUEUE"},
      std::pair{CL_INVALID_HOST_PTR, "CL_INVALID_HOST_PTR"},
      std::pair{CL_INVALID_MEM_OBJECT, "CL_INVALID_MEM_OBJECT"},
      std::pair{CL_INVALID_BUILD_OPTIONS, "CL_INVALID_BUILD_OPTIONS"},
      std::pair{CL_INVALID_KERNEL_NAME, "CL_INVALID_KERNEL_NAME"},
      std::pair{CL_INVALID_KERNEL_ARGS, "CL_INVALID_KERNEL_ARGS"},
      std::pair{CL_INVALID_ARG_INDEX, "CL_INVALID_ARG_INDEX"},
      std::pair{CL_INVALID_ARG_SIZE, "CL_INVALID_ARG_SIZE"},
      std::pair{CL_INVALID_ARG_VALUE, "CL_INVALID_ARG_VALUE"},
      std::pair{CL_INVALID_WORK_GROUP_SIZE, "CL_INVALID_WORK_GROUP_SIZE"},
      std::pair{CL_INVALID_EVENT_WAIT_LIST, "CL_INVALID_EVENT_WAIT_LIST"},
      std::pair{CL_INVALID_BUFFER_SIZE, "CL_INVALID_BUFFER_SIZE"},
  };
  for (const auto& [known, name] : kNames) {
    if (code == known) return fmt::format("{} ({})", name, code);
  }
  return fmt::format("OpenCL error {}", code);
}

void check(cl_int code, std::string_view what) {
  if (code != CL_SUCCESS)
    throw ResourceError(fmt::format("opencl: {}: {}; check the device with clinfo", what, error_text(code)));
}

}  // namespace rashpa::memory::opencl
