#pragma once

namespace weir::transport {

// True if this process was started with the signal ignored (nohup, a shell's background job). Such a signal
// gets no handler.
[[nodiscard]] bool is_ignored(int signal);

// Installs a handler, except for a signal that is ignored.
void handle_signal(int signal, void (*handler)(int));

}  // namespace weir::transport
