#pragma once

#include <weir/weir_filter.h>

namespace weir::filter_host {

// The whole of weir-filter-worker: takes its descriptors and its settings from the DCM that started it, runs
// the filter over the slices in its lane, and returns the process's exit status when the DCM closes the
// control socket.
[[nodiscard]] int run_worker_main();

// The same in parts, for programs that host filters of another language.

// False: the process was not started by a DCM.
[[nodiscard]] bool is_worker();
// Follows its parent's end, and leaves a note when it crashes. Signal handlers that are installed later come
// first, and must call these.
void prepare_worker();
[[nodiscard]] int run_worker();
// From inside process(): the filter refers to bytes of this slice after it. They stay as they are for the
// process's life, in memory of its own. Errors: ends the process when that memory is not available.
void keep_slice_bytes(const weir_filter_slice& slice);
// The process cannot go on for lack of memory: ends it such that the DCM sees that.
[[noreturn]] void end_out_of_memory(const char* note);

}  // namespace weir::filter_host
