// SPDX-License-Identifier: Apache-2.0
#pragma once
/// OpenCL 1.2 through a table of function pointers, so that one binary starts with and without the library. Any thread.
#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>

#include <string>
#include <string_view>

namespace rashpa::memory::opencl {

/// The functions that we use.
struct Api {
  decltype(&clGetPlatformIDs) get_platforms = nullptr;
  decltype(&clGetPlatformInfo) get_platform_info = nullptr;
  decltype(&clGetDeviceIDs) get_devices = nullptr;
  decltype(&clGetDeviceInfo) get_device_info = nullptr;
  decltype(&clCreateContext) create_context = nullptr;
  decltype(&clReleaseContext) release_context = nullptr;
  decltype(&clCreateCommandQueue) create_queue = nullptr;
  decltype(&clReleaseCommandQueue) release_queue = nullptr;
  decltype(&clCreateBuffer) create_buffer = nullptr;
  decltype(&clReleaseMemObject) release_memory = nullptr;
  decltype(&clCreateProgramWithSource) create_program = nullptr;
  decltype(&clBuildProgram) build_program = nullptr;
  decltype(&clGetProgramBuildInfo) get_build_info = nullptr;
  decltype(&clReleaseProgram) release_program = nullptr;
  decltype(&clCreateKernel) create_kernel = nullptr;
  decltype(&clReleaseKernel) release_kernel = nullptr;
  decltype(&clSetKernelArg) set_argument = nullptr;
  decltype(&clEnqueueNDRangeKernel) run_kernel = nullptr;
  decltype(&clEnqueueWriteBuffer) write_buffer = nullptr;
  decltype(&clEnqueueReadBuffer) read_buffer = nullptr;
  decltype(&clEnqueueFillBuffer) fill_buffer = nullptr;
  decltype(&clEnqueueMapBuffer) map_buffer = nullptr;
  decltype(&clEnqueueUnmapMemObject) unmap = nullptr;
  decltype(&clEnqueueMarkerWithWaitList) marker = nullptr;
  decltype(&clEnqueueBarrierWithWaitList) barrier = nullptr;
  decltype(&clGetEventInfo) get_event_info = nullptr;
  decltype(&clReleaseEvent) release_event = nullptr;
  decltype(&clFlush) flush = nullptr;
  decltype(&clFinish) finish = nullptr;
};

/// Returns the table, and loads the library at the first call. Throws ResourceError at each call when this machine
/// lacks the library.
const Api& api();

/// Loads the table from another file, for tests.
Api load_api(const char* file);

/// Returns the text of an error code: "CL_OUT_OF_RESOURCES (-5)".
std::string error_text(cl_int code);

/// Throws ResourceError "opencl: `what`: …" when `code` is an error.
void check(cl_int code, std::string_view what);

}  // namespace rashpa::memory::opencl
