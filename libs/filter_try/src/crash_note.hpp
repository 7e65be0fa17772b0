#pragma once

#include <weir/base/ids.hpp>

#include <cstddef>

namespace weir::filter_try {

// Installs handlers that write to standard error which slice was being processed when the process ended: by
// SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT or exit() in the thread that processes it, or, for all threads, by
// SIGINT and SIGTERM. A signal then ends the process as without a handler, exit() with status 1.
void note_crashes();

// Marks the slice, or the first slice of a batch, that this thread processes until the mark is destroyed.
class ProcessingMark {
 public:
  explicit ProcessingMark(SliceId slice, std::size_t count = 1);
  ~ProcessingMark();
  ProcessingMark(const ProcessingMark&) = delete;
  ProcessingMark& operator=(const ProcessingMark&) = delete;
};

}  // namespace weir::filter_try
