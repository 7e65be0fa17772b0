#include "crash_note.hpp"

#include <array>
#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace weir::filter_try {
namespace {

constexpr std::size_t kThreadsMax = 256;  // with a mark at a time; further ones are not named

// The slice or batch that a thread processes. Read by signal handlers of any thread.
struct Place {
  std::atomic<bool> taken{false};
  std::atomic<bool> processing{false};
  std::atomic<std::uint64_t> slice{0};  // of a batch: the first one
  std::atomic<std::uint64_t> count{0};
  std::atomic<std::int64_t> since_s{0};
};
std::array<Place, kThreadsMax> places;
thread_local Place* own_place = nullptr;
std::atomic<const char*> current_phase{nullptr};

std::int64_t now_s() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec;
}

struct Repetition {
  const Place& place;
};

// Async-signal-safe: formats on the stack, writes once.
class Line {
 public:
  Line& operator<<(std::string_view part) {
    const std::size_t taken = part.size() < text_.size() - used_ ? part.size() : text_.size() - used_;
    std::memcpy(text_.data() + used_, part.data(), taken);
    used_ += taken;
    return *this;
  }
  Line& operator<<(std::uint64_t number) {
    std::array<char, 24> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    return *this << std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data()));
  }
  void write() { [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text_.data(), used_); }

 private:
  std::array<char, 256> text_{};
  std::size_t used_ = 0;
};

// "slice 17", or the slices of a batch.
Line& operator<<(Line& line, const Place& place) {
  const std::uint64_t count = place.count;
  if (count > 1) return line << "a batch of " << count << " slices from slice " << place.slice << " on";
  return line << "slice " << place.slice;
}

Line& operator<<(Line& line, const Repetition& repetition) {
  if (repetition.place.count > 1) return line << "; '--slice ID' repeats one of them alone";
  return line << "; '--slice " << repetition.place.slice << "' repeats it alone";
}

void on_crash(int number) {
  if (own_place != nullptr && own_place->processing) {
    Line line;
    line << "weir filter try: the filter crashed in " << *own_place
         << (number == SIGABRT  ? " (abort)"
             : number == SIGFPE ? " (arithmetic error)"
                                : " (invalid memory)")
         << Repetition{*own_place} << ", '--asan' finds memory errors\n";
    line.write();
  }
  ::raise(number);
}

// Any thread may receive it: names the slices of all.
void on_end(int number) {
  for (const Place& place : places) {
    if (!place.processing) continue;
    Line line;
    line << "weir filter try: the filter was in " << place << ", for "
         << static_cast<std::uint64_t>(now_s() - place.since_s) << " s" << Repetition{place} << "\n";
    line.write();
  }
  ::raise(number);
}

// Writes the slice or phase in which the filter ends the process. False: no filter is at work.
bool note_end(std::string_view function) {
  const bool inside = own_place != nullptr && own_place->processing;
  const char* phase = current_phase;
  if (!inside && phase == nullptr) return false;
  Line line;
  line << "weir filter try: the filter called " << function << " in ";
  if (inside) {
    line << *own_place;
  } else {
    line << std::string_view(phase);
  }
  line << ", which ends its worker in a farm";
  if (inside) line << Repetition{*own_place};
  line << "\n";
  line.write();
  return true;
}

[[noreturn]] void end_now(int status) {
  while (true) ::syscall(SYS_exit_group, status);
}

void on_exit() {
  if (note_end("exit()")) end_now(EXIT_FAILURE);
}

}  // namespace

// Take the place of the C library's functions, which run no handlers, for this program and its plugins.
extern "C" __attribute__((visibility("default"), noreturn)) void _exit(int status) {
  end_now(note_end("_exit()") ? EXIT_FAILURE : status);
}
extern "C" __attribute__((visibility("default"), noreturn)) void _Exit(int status) noexcept {
  ::_exit(status);
}

void note_crashes() {
  struct sigaction action {};
  action.sa_handler = &on_crash;
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // the second one ends the process
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) ::sigaction(number, &action, nullptr);
  action.sa_handler = &on_end;
  for (const int number : {SIGINT, SIGTERM}) ::sigaction(number, &action, nullptr);
  std::atexit(&on_exit);
  std::at_quick_exit(&on_exit);
}

FilterPhase::FilterPhase(const char* name) { current_phase = name; }

FilterPhase::~FilterPhase() { current_phase = nullptr; }

ProcessingMark::ProcessingMark(SliceId slice, std::size_t count) {
  for (Place& place : places) {
    if (place.taken.exchange(true)) continue;
    own_place = &place;
    place.slice = slice.value;
    place.count = count;
    place.since_s = now_s();
    place.processing = true;
    return;
  }
}

ProcessingMark::~ProcessingMark() {
  if (own_place == nullptr) return;
  own_place->processing = false;
  own_place->taken = false;
  own_place = nullptr;
}

}  // namespace weir::filter_try
