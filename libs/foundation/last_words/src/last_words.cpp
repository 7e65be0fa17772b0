#include <weir/last_words/last_words.hpp>

#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace weir::last_words {
namespace {

constexpr std::uint64_t kMagic = 0x31646e6572696577;
constexpr std::size_t kSlots = 32;  // threads; later ones share
constexpr std::array kCrashes = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

struct Page {
  std::uint64_t magic = 0;
  std::atomic<std::int32_t> owner = 0;
  std::atomic<std::int32_t> signal = 0;
  std::atomic<std::int32_t> status = -1;
  std::array<std::atomic<std::uint64_t>, kSlots> slices = {};  // number + 1; 0: none
};

Page unkept;  // without a file
std::atomic<Page*> page = &unkept;
std::string file_path;

std::atomic<std::uint64_t>& slot() {
  static std::atomic<std::size_t> threads = 0;
  thread_local const std::size_t mine = threads.fetch_add(1, std::memory_order_relaxed) % kSlots;
  return page.load(std::memory_order_relaxed)->slices[mine];
}

// SA_RESETHAND: the signal that is raised again ends the process as it would have without this.
void on_crash(int signal) {
  Page& now = *page.load(std::memory_order_relaxed);
  if (now.owner.load(std::memory_order_relaxed) == ::getpid()) now.signal.store(signal);
  ::raise(signal);
}

void watch_crashes() {
  for (const int signal : kCrashes) {
    struct sigaction action {};
    // Another tool's handler, as a sanitizer's, stays.
    if (::sigaction(signal, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) continue;
    action = {};
    action.sa_handler = on_crash;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
    ::sigaction(signal, &action, nullptr);
  }
}

std::string name_of(int signal) {
  const char* text = ::strsignal(signal);
  return "signal " + std::to_string(signal) + (text != nullptr ? " (" + std::string(text) + ")" : "");
}

Note read_note(const std::string& path) {
  Note note;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return note;
  Page left;
  const bool whole = ::read(file, static_cast<void*>(&left), sizeof left) == sizeof left;
  ::close(file);
  if (!whole || left.magic != kMagic) return note;
  note.found = true;
  if (const int signal = left.signal; signal > 0) {
    note.end = name_of(signal);
  } else if (left.status >= 0) {
    note.end = "status " + std::to_string(left.status);
  } else {
    note.end = "SIGKILL, lack of memory or the end of its host";  // which leave no time for a note
  }
  constexpr int kNamed = 4;
  int named = 0;
  for (const auto& slice : left.slices) {
    if (slice == 0 || named == kNamed) continue;
    note.slices += (named++ == 0 ? "slice " : ", slice ") + std::to_string(slice - 1);
  }
  return note;
}

}  // namespace

Note open(const std::string& path) {
  Note before = read_note(path);
  const std::string fresh = path + ".new";  // a mapping of the old file may still be in use
  const int file = ::open(fresh.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return before;
  // Blocks are taken now: a store into a hole of a full disk would end the process.
  void* memory = ::posix_fallocate(file, 0, sizeof(Page)) == 0
                     ? ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                     : MAP_FAILED;
  ::close(file);
  if (memory == MAP_FAILED || ::rename(fresh.c_str(), path.c_str()) != 0) {
    ::unlink(fresh.c_str());
    return before;
  }
  auto* mine = new (memory) Page;
  mine->owner = ::getpid();
  mine->magic = kMagic;
  page = mine;
  file_path = path;
  watch_crashes();
  return before;
}

void close() {
  if (page.load()->owner == ::getpid()) ::unlink(file_path.c_str());
}

void note_status(int status) {
  Page& now = *page.load();
  if (now.owner == ::getpid()) now.status = status;
}

void note_slice(SliceId slice) { slot().store(slice.value + 1, std::memory_order_relaxed); }
void clear_slice() { slot().store(0, std::memory_order_relaxed); }

std::string combine(const std::string& starter, const Note& note) {
  std::string text = starter.empty() ? note.end : starter;
  if (note.found && !note.slices.empty()) text += " at " + note.slices;
  return text;
}

}  // namespace weir::last_words
