#pragma once

#include <weir/base/ids.hpp>

namespace weir::filter_try {

// Installs handlers for SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT that write which slice this thread was
// processing to standard error; the signal then ends the process as without a handler.
void note_crashes();

// Marks the slice that this thread processes until the mark is destroyed.
class ProcessingMark {
 public:
  explicit ProcessingMark(SliceId slice);
  ~ProcessingMark();
  ProcessingMark(const ProcessingMark&) = delete;
  ProcessingMark& operator=(const ProcessingMark&) = delete;
};

}  // namespace weir::filter_try
