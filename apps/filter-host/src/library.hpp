// Functions that weir_daq.filter_host calls through ctypes. Nothing is thrown through them.
#pragma once

#include <weir/weir_filter.h>

#include <cstdint>

extern "C" {

struct weir_python_file {
  const char* path;
  const char* content;
  std::uint64_t size;
};
// Compiles the first file, which imports the others, and returns the plugin's functions, which stay valid
// until the process ends; or null, with a sentence in `error`.
typedef const weir_filter_plugin* (*weir_python_load)(const weir_python_file* files, std::uint64_t count,
                                                      char* error, std::uint32_t error_size);
// Returns 1 if the instance decides on batches.
typedef std::int32_t (*weir_python_has_batches)(void* instance);
// Receives the slices of the instance's next process() calls, in their order, with their states in place.
typedef void (*weir_python_begin_batch)(void* instance, const weir_filter_slice* slices, std::uint64_t count);

// Requires: called once, before the other functions.
WEIR_FILTER_EXPORT void weir_filter_host_set_up(weir_python_load load, weir_python_has_batches has_batches,
                                                weir_python_begin_batch begin_batch);
// 1: the process was started by a DCM.
WEIR_FILTER_EXPORT std::int32_t weir_filter_host_is_worker(void);
// Follows the parent's end and notes crashes. Fault handlers of Python's are installed after it.
WEIR_FILTER_EXPORT void weir_filter_host_prepare(void);
// Runs until the DCM closes the control socket. Returns the process's exit status.
WEIR_FILTER_EXPORT std::int32_t weir_filter_host_work(void);
// From process(): the filter still refers to bytes of this slice.
WEIR_FILTER_EXPORT void weir_filter_host_keep(const weir_filter_slice* slice);
// From process(): calls host->fill() for each of `count` entries.
WEIR_FILTER_EXPORT void weir_filter_host_fill(const weir_filter_host* host, std::uint32_t histogram,
                                              const double* x, const double* y, const double* weight,
                                              std::uint64_t count);
// Ends the process as one that is out of memory.
WEIR_FILTER_EXPORT void weir_filter_host_out_of_memory(const char* note);
// Makes an instance of the filter for a v1::WorkerMessage::Setup in JSON. `text` receives its description, or
// a sentence. Returns 0, 1 (cannot be loaded) or 2 (refuses its parameters).
WEIR_FILTER_EXPORT std::int32_t weir_filter_host_check(const char* setup, char* text,
                                                       std::uint32_t text_size);
// `weir filter try` with the settings of filter_try::to_json(). Returns its exit status.
WEIR_FILTER_EXPORT std::int32_t weir_filter_host_try(const char* command);
}
