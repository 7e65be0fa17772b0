#pragma once

namespace weir::node {

// Returns the exit status of a finished process: `status`, or 1 instead of 0 if its output could not be
// written, with a sentence on standard error. A closed pipe does not count. Requires: called once, after the
// last output.
[[nodiscard]] int status_with_output(int status);

}  // namespace weir::node
