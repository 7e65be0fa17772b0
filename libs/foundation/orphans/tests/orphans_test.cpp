#include "weir_catch.hpp"
#include <weir/base/scratch_folder.hpp>
#include <weir/orphans/orphans.hpp>

#include <spawn.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace weir;

// Runs a shell with the mark in its environment, and waits for its end.
pid_t run(std::string command, std::string mark) {
  std::string shell = "sh";
  std::string option = "-c";
  char* const words[] = {shell.data(), option.data(), command.data(), nullptr};
  char* const environment[] = {mark.data(), nullptr};
  pid_t child = 0;
  REQUIRE(::posix_spawn(&child, "/bin/sh", nullptr, nullptr, words, environment) == 0);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  return child;
}

}  // namespace

TEST_CASE("a descendant in a session of its own ends, and one without the mark stays") {
  const ScratchFolder folder;
  orphans::adopt();
  const std::string own_file = folder.path().string() + "/own";
  const std::string other_file = folder.path().string() + "/other";
  // The other one writes its number itself: until `env` has replaced itself, it has the mark.
  const pid_t child =
      run("PATH=/usr/bin:/bin\nsetsid sh -c 'setsid sleep 600 & echo $! > " + own_file + "' & wait\n" +
              "env -u MARK setsid sh -c 'echo $$ > " + other_file + "; exec sleep 600' &\n" +
              "for turn in $(seq 1000); do [ -s " + other_file + " ] && break; sleep 0.01; done",
          "MARK=17-1");
  pid_t own = 0;
  pid_t other = 0;
  std::ifstream(own_file) >> own;
  std::ifstream(other_file) >> other;
  REQUIRE((own > 0 && other > 0));
  CHECK(::kill(own, 0) == 0);
  orphans::end_descendants(child, "MARK=17-1");
  CHECK(::kill(own, 0) != 0);
  CHECK(::kill(other, 0) == 0);
  ::kill(other, SIGKILL);
  CHECK(::waitpid(other, nullptr, 0) == other);
}
