#include "../src/crash_note.hpp"

#include "weir_catch.hpp"

#include <csignal>
#include <cstdlib>
#include <functional>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace weir;
using namespace weir::filter_try;

namespace {

struct ChildEnd {
  int status = 0;
  std::string err;
};

// Runs `body` in a child process with the handlers; returns its standard error and status.
ChildEnd child(const std::function<void()>& body) {
  int pipe_ends[2];
  REQUIRE(::pipe(pipe_ends) == 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(pipe_ends[1], STDERR_FILENO);
    ::close(pipe_ends[0]);
    ::close(pipe_ends[1]);
    for (const int signal : {SIGINT, SIGTERM, SIGSEGV, SIGABRT}) std::signal(signal, SIG_DFL);
    note_crashes();
    body();
    ::_exit(0);
  }
  ::close(pipe_ends[1]);
  ChildEnd end;
  char text[256];
  for (ssize_t n = 0; (n = ::read(pipe_ends[0], text, sizeof text)) > 0;)
    end.err.append(text, static_cast<std::size_t>(n));
  ::close(pipe_ends[0]);
  ::waitpid(pid, &end.status, 0);
  return end;
}

}  // namespace

TEST_CASE("the slice in which a filter calls exit() is named, and the status is not good") {
  const ChildEnd inside = child([] {
    const ProcessingMark mark(SliceId(17));
    std::exit(0);  // NOLINT(concurrency-mt-unsafe)
  });
  CHECK(WIFEXITED(inside.status));
  CHECK(WEXITSTATUS(inside.status) == 1);
  CHECK_THAT(inside.err, Catch::ContainsSubstring("weir filter try: the filter called exit() in slice 17,"));
  const ChildEnd batch = child([] {
    const ProcessingMark mark(SliceId(16), 64);
    std::exit(0);  // NOLINT(concurrency-mt-unsafe)
  });
  CHECK_THAT(batch.err, Catch::ContainsSubstring("called exit() in a batch of 64 slices from slice 16 on,"));
  const ChildEnd between = child([] {
    { const ProcessingMark mark(SliceId(17)); }
    std::exit(3);  // NOLINT(concurrency-mt-unsafe)
  });
  CHECK(WEXITSTATUS(between.status) == 3);
  CHECK(between.err.empty());
}

TEST_CASE("a filter that ends the process outside of slices is named with its function") {
  const auto ends = [](void (*end)()) {
    const ChildEnd one = child([end] {
      const FilterPhase phase("end_run()");
      end();
    });
    CHECK(WIFEXITED(one.status));
    CHECK(WEXITSTATUS(one.status) == 1);
    return one.err;
  };
  const std::string rest = " in end_run(), which ends its worker in a farm\n";
  CHECK(ends([] { std::exit(0); }) == "weir filter try: the filter called exit()" + rest);
  CHECK(ends([] { std::quick_exit(0); }) == "weir filter try: the filter called exit()" + rest);
  CHECK(ends([] { ::_exit(0); }) == "weir filter try: the filter called _exit()" + rest);
  CHECK(ends([] { ::_Exit(0); }) == "weir filter try: the filter called _exit()" + rest);
  const ChildEnd inside = child([] {
    const ProcessingMark mark(SliceId(17));
    ::_exit(0);
  });
  CHECK(WEXITSTATUS(inside.status) == 1);
  CHECK_THAT(inside.err, Catch::ContainsSubstring("called _exit() in slice 17,"));
  const ChildEnd after = child([] {
    { const FilterPhase phase("end_run()"); }
    ::_exit(3);
  });
  CHECK(WEXITSTATUS(after.status) == 3);
  CHECK(after.err.empty());
}

TEST_CASE(
    "the slices in which filters loop are named when the command is ended, whatever thread they are in") {
  const ChildEnd end = child([] {
    const ProcessingMark mark(SliceId(1));
    std::thread([] {
      const ProcessingMark other(SliceId(2));
      ::raise(SIGINT);
    }).join();
  });
  CHECK(WIFSIGNALED(end.status));
  CHECK(WTERMSIG(end.status) == SIGINT);
  CHECK_THAT(end.err, Catch::ContainsSubstring("the filter was in slice 1, for ") &&
                          Catch::ContainsSubstring("in slice 2, for "));
}
