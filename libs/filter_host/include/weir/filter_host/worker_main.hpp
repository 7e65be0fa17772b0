#pragma once

namespace weir::filter_host {

// The whole of weir-filter-worker: takes its descriptors and its settings from the DCM that started it, runs
// the filter over the slices in its lane, and returns the process's exit status when the DCM closes the
// control socket.
[[nodiscard]] int run_worker_main();

}  // namespace weir::filter_host
