#include "temporary_folder.hpp"
#include "weir_catch.hpp"
#include <weir/last_words/last_words.hpp>

#include <csignal>
#include <filesystem>
#include <functional>
#include <sys/wait.h>
#include <unistd.h>

using namespace weir;
using weir::test::TemporaryFolder;

namespace {

// Runs `act` in a process with a note in `path`, and returns how it ended.
int status_of(const std::string& path, const std::function<void()>& act) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (const int signal : {SIGSEGV, SIGABRT}) std::signal(signal, SIG_DFL);  // the test framework's
    (void)last_words::open(path);
    act();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

// Reads the note as the next process would, without keeping an own one.
last_words::Note note_in(const std::string& path) {
  last_words::Note note = last_words::open(path);
  last_words::close();
  return note;
}

}  // namespace

TEST_CASE("the next process reads the signal and the slices in work, also after SIGKILL") {
  const TemporaryFolder folder;
  const std::string path = folder / "dcm-0.last";
  const int crashed = status_of(path, [] {
    last_words::note_slice(SliceId(150));
    ::raise(SIGSEGV);
  });
  CHECK(WTERMSIG(crashed) == SIGSEGV);
  const last_words::Note crash = note_in(path);
  CHECK(crash.found);
  CHECK(crash.end.starts_with("signal 11"));
  CHECK(crash.slices == "slice 150");
  CHECK(last_words::combine("", crash).ends_with(" at slice 150"));
  CHECK(last_words::combine("signal 9 (Killed)", crash) == "signal 9 (Killed) at slice 150");

  const int killed = status_of(path, [] {
    last_words::note_slice(SliceId(7));
    last_words::note_slice(SliceId(0));
    ::raise(SIGKILL);
  });
  CHECK(WTERMSIG(killed) == SIGKILL);
  const last_words::Note kill = note_in(path);
  CHECK(kill.slices == "slice 0");
  CHECK(last_words::combine("", kill) == "SIGKILL, lack of memory or the end of its host at slice 0");
}

TEST_CASE("an orderly end leaves no note, a child's crash neither, and other files are not read") {
  const TemporaryFolder folder;
  const std::string path = folder / "dcm-0.last";
  CHECK(status_of(path, [] { last_words::close(); }) == 0);
  CHECK_FALSE(std::filesystem::exists(path));
  const int parent = status_of(path, [] {
    last_words::note_slice(SliceId(3));
    last_words::clear_slice();
    if (::fork() == 0) ::raise(SIGABRT);
    ::wait(nullptr);
    last_words::note_status(70);
  });
  CHECK(parent == 0);
  const last_words::Note note = note_in(path);
  CHECK(note.end == "status 70");
  CHECK(note.slices.empty());

  (void)folder.write("short", "x");
  CHECK_FALSE(note_in(folder / "short").found);
  CHECK_FALSE(note_in("/nonexistent/folder/x").found);
  CHECK(last_words::combine("signal 9 (Killed)", {}) == "signal 9 (Killed)");
}
