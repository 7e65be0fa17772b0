#pragma once

namespace weir {

// Receives the failed WEIR_ASSERT before the process aborts. It must not allocate more than it has to, and
// must return. Called once: a further failure, in it or in another thread, aborts directly.
using BrokenInvariantHandler = void (*)(const char* expression, const char* file, int line);

// Sets the handler of this process; null: the failure goes to standard error as plain text.
void on_broken_invariant(BrokenInvariantHandler handler);

}  // namespace weir
