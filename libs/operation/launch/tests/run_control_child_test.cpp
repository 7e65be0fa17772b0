#include "weir_catch.hpp"
#include <weir/base/scratch_folder.hpp>
#include <weir/launch/run_control_child.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace weir;
using namespace weir::launch;
using State = RunControlChild::State;

namespace {

constexpr int kChildRounds = 2000;
constexpr useconds_t kChildRoundUs = 2000;

// A script in place of run control.
struct Place {
  Place() {
    const std::filesystem::path program = folder.path() / "weir-run-control";
    std::ofstream(program) << "#!/bin/sh\necho \"$@\" >&2\necho 'run-control 7700 publish 1 subscribe 2'\n"
                              "echo 'page none'\nexec sleep 100\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    settings.program_folder = folder.path();
    settings.farm_file = "farm.yaml";
    settings.listen = "127.0.0.1:0";
    settings.log_file = folder.path() / "log";
  }
  std::string log() const {
    std::ifstream file(settings.log_file);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  ScratchFolder folder;
  std::string memory = folder.path() / "memory";
  ControlChildSettings settings;
};

void find(RunControlChild& control) {
  for (int i = 0; i < kChildRounds && control.state() == State::starting; ++i) {
    REQUIRE(control.found());
    ::usleep(kChildRoundUs);
  }
  REQUIRE(control.state() == State::there);
}

ProcessEnd end_of(RunControlChild& control) {
  for (int i = 0; i < kChildRounds; ++i) {
    if (const auto end = control.poll()) return *end;
    ::usleep(kChildRoundUs);
  }
  FAIL("it does not end");
  return {};
}

}  // namespace

TEST_CASE("run control that dies is restarted after a while at its address, a limited number of times") {
  const Place place;
  RunControlChild control({place.settings, place.memory, ""}, [] {});
  CHECK(control.state() == State::absent);
  REQUIRE(control.start().empty());
  find(control);
  TimeNs now = 0;
  for (std::uint32_t i = 0; i < RestartSettings().restarts_max; ++i) {
    control.send_signal(SIGKILL);
    const ProcessEnd end = end_of(control);
    CHECK(control.state() == State::ended);
    CHECK(control.story(end).starts_with("run control ended with signal 9 (Killed)"));
    REQUIRE(control.start_again(now));
    CHECK(control.start_due(now) == false);
    now += kSecond;
    CHECK(control.start_due(now) == true);
    CHECK(control.state() == State::there);
  }
  for (int i = 0; i < kChildRounds && place.log().find("--listen 127.0.0.1:7700") == std::string::npos; ++i)
    ::usleep(kChildRoundUs);
  control.send_signal(SIGKILL);
  (void)end_of(control);
  CHECK_FALSE(control.start_again(now));
  CHECK(control.asked_at() == "127.0.0.1:7700");
  CHECK(place.log().find("--listen 127.0.0.1:7700") != std::string::npos);
  CHECK(place.log().find("--one-run --memory " + place.memory) != std::string::npos);
}

TEST_CASE("run control that cannot listen at its address moves to a free port once, if it may") {
  for (const bool may : {true, false}) {
    CAPTURE(may);
    Place place;
    const std::filesystem::path program = place.folder.path() / "weir-run-control";
    std::ofstream(program)
        << "#!/bin/sh\ncase \"$*\" in *127.0.0.1:0*) ;; *) exit 2;; esac\n"
           "echo 'run-control 7700 publish 1 subscribe 2'\necho 'page none'\nexec sleep 100\n";
    place.settings.listen = "192.0.2.1:7700";
    RunControlChild control({place.settings, place.memory, "", "", may}, [] {});
    REQUIRE(control.start().empty());
    CHECK(end_of(control).status == 2);
    REQUIRE(control.moves() == may);
    if (!may) continue;
    REQUIRE(control.start().empty());
    find(control);
    CHECK(control.asked_at() == "127.0.0.1:7700");
    CHECK_FALSE(control.moves());
  }
}

TEST_CASE("the saved state of one-run control is for that run alone") {
  const Place place;
  const auto remember = [&] { std::ofstream(place.memory) << "what was remembered"; };
  remember();
  {
    RunControlChild control({place.settings, place.memory, ""}, [] {});
    CHECK_FALSE(std::filesystem::exists(place.memory));
    remember();
  }
  CHECK_FALSE(std::filesystem::exists(place.memory));
}

TEST_CASE("run control in another network is reached at its address in this one, at its port") {
  const Place place;
  RunControlChild control({place.settings, place.memory, "", "10.78.255.254"}, [] {});
  REQUIRE(control.start().empty());
  find(control);
  CHECK(control.asked_at() == "10.78.255.254:7700");
}
