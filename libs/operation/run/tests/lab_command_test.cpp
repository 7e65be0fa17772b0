#include "weir_catch.hpp"
#include <weir/base/scratch_folder.hpp>
#include <weir/run/exit_status.hpp>
#include <weir/run/lab_command.hpp>

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace weir::run {
namespace {

using Catch::ContainsSubstring;

struct Refusal {
  int status = 0;
  std::string text;
};

// Carries out `weir lab up` with a lab that it refuses.
Refusal refused_lab(const std::string& lab, const std::vector<std::string>& sets) {
  const ScratchFolder folder;
  const auto path = folder.path() / "lab.yaml";
  std::ofstream(path) << lab;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> err(std::tmpfile(), &std::fclose);
  REQUIRE(err != nullptr);
  Refusal refusal;
  refusal.status = lab_up({path.string(), sets}, err.get(), err.get());
  std::rewind(err.get());
  for (int letter = std::fgetc(err.get()); letter != EOF; letter = std::fgetc(err.get()))
    refusal.text += static_cast<char>(letter);
  return refusal;
}

TEST_CASE("a lab that stays up refuses rings, because no farm tells it where DCMs are") {
  const std::string lab = "lab: kept-rings\nhost_count: 2\nport_rate: 50mbit\nport_buffer: 20k\n";
  const Refusal written = refused_lab(lab + "port_queue: per-dcm\nring_packets: 64\n", {});
  CHECK(written.status == kExitUsage);
  CHECK_THAT(written.text, ContainsSubstring("lab.yaml:5") && ContainsSubstring("lab.port_queue") &&
                               ContainsSubstring("use weir run FARM --lab FILE"));
  const Refusal set = refused_lab(lab, {"port_queue=per-dcm"});
  CHECK(set.status == kExitUsage);
  CHECK_THAT(set.text, ContainsSubstring("lab.port_queue") && ContainsSubstring("or set it to shared"));
  const Refusal software = refused_lab(lab + "switches: software\nport_queue: per-dcm\n", {});
  CHECK(software.status == kExitUsage);
}

TEST_CASE("a lab that stays up refuses a static window, and names the line") {
  const Refusal refusal =
      refused_lab("lab: kept-window\nhost_count: 2\nwindow_segments: 20\nstatic_window: true\n", {});
  CHECK(refusal.status == kExitUsage);
  CHECK_THAT(refusal.text,
             ContainsSubstring("lab.yaml:4") && ContainsSubstring("weir-static-window SEGMENTS"));
}

}  // namespace
}  // namespace weir::run
