#pragma once

#include <weir/base/ids.hpp>

#include <cstddef>

namespace weir::filter_try {

// Installs handlers that write to standard error which slice was being processed when the process ended: by
// SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, exit() or _exit() in the thread that processes it, or, for all
// threads, by SIGINT and SIGTERM. A signal then ends the process as without a handler, exit() and _exit()
// with status 1, also outside of slices while a FilterPhase exists.
void note_crashes();

// Names the part of the trial until it is destroyed, where no slice is processed: "begin_run()".
// Requires: static text; one phase at a time.
class FilterPhase {
 public:
  explicit FilterPhase(const char* name);
  ~FilterPhase();
  FilterPhase(const FilterPhase&) = delete;
  FilterPhase& operator=(const FilterPhase&) = delete;
};

// Marks the slice, or the first slice of a batch, that this thread processes until the mark is destroyed.
class ProcessingMark {
 public:
  explicit ProcessingMark(SliceId slice, std::size_t count = 1);
  ~ProcessingMark();
  ProcessingMark(const ProcessingMark&) = delete;
  ProcessingMark& operator=(const ProcessingMark&) = delete;
};

}  // namespace weir::filter_try
