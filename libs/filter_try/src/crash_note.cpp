#include "crash_note.hpp"

#include <array>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <unistd.h>

namespace weir::filter_try {
namespace {

thread_local volatile std::sig_atomic_t processing = 0;
thread_local volatile std::uint64_t processed_slice = 0;

void append(std::array<char, 256>& text, std::size_t& used, std::string_view part) {
  const std::size_t taken = part.size() < text.size() - used ? part.size() : text.size() - used;
  std::memcpy(text.data() + used, part.data(), taken);
  used += taken;
}

// Async-signal-safe: formats on the stack, writes once.
void on_crash(int number) {
  if (processing != 0) {
    std::array<char, 24> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), processed_slice).ptr;
    const std::string_view slice(digits.data(), static_cast<std::size_t>(end - digits.data()));
    std::array<char, 256> text{};
    std::size_t used = 0;
    append(text, used, "weir filter try: the filter crashed in slice ");
    append(text, used, slice);
    append(text, used,
           number == SIGABRT  ? " (abort)"
           : number == SIGFPE ? " (arithmetic error)"
                              : " (invalid memory)");
    append(text, used, "; '--slice ");
    append(text, used, slice);
    append(text, used, "' repeats it alone, '--asan' finds memory errors\n");
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), used);
  }
  ::raise(number);
}

}  // namespace

void note_crashes() {
  struct sigaction action {};
  action.sa_handler = &on_crash;
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // the second one ends the process
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) ::sigaction(number, &action, nullptr);
}

ProcessingMark::ProcessingMark(SliceId slice) {
  processed_slice = slice.value;
  processing = 1;
}

ProcessingMark::~ProcessingMark() { processing = 0; }

}  // namespace weir::filter_try
