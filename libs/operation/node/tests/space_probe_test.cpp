// Space of file systems, measured beside the process.
#include "weir_catch.hpp"
#include <weir/node/space_probe.hpp>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <thread>

using namespace weir;
using namespace weir::node;

namespace {

const std::vector<control::FolderPlace> kPlaces = {{"run.out", "/data", "/data", "disk", ""}};

template <typename Condition>
bool holds_soon(const Condition& condition) {
  for (int i = 0; i < 1000 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return condition();
}

}  // namespace

TEST_CASE("the space of a folder is that of its file system") {
  const auto space = disk_space("/");
  REQUIRE(space);
  CHECK(space->total_bytes > space->free_bytes);
  CHECK_FALSE(disk_space("/no/such/folder"));
}

TEST_CASE("a measurement arrives later, is repeated, and is forgotten when it gets old") {
  auto free_bytes = std::make_shared<std::atomic<std::uint64_t>>(7);
  SpaceProbe probe([free_bytes](const std::string&) { return control::DiskSpace{*free_bytes, 100}; });
  TimeNs now = kSecond;
  CHECK_FALSE(probe.of("/data", now));
  probe.look(kPlaces, now);
  REQUIRE(holds_soon([&] { return probe.of("/data", now).has_value(); }));
  CHECK(probe.of("/data", now)->free_bytes == 7);
  CHECK_FALSE(probe.of("/other", now));
  *free_bytes = 6;
  now += SpaceProbe::kInterval;
  probe.look(kPlaces, now);
  CHECK(holds_soon([&] { return probe.of("/data", now)->free_bytes == 6; }));
  CHECK_FALSE(probe.of("/data", now + SpaceProbe::kFresh + 1));
}

TEST_CASE("a file system that does not answer holds up neither its process nor the process' end") {
  auto release = std::make_shared<std::promise<void>>();
  auto calls = std::make_shared<std::atomic<int>>(0);
  const std::shared_future<void> released = release->get_future().share();
  {
    SpaceProbe probe([released, calls](const std::string&) -> std::optional<control::DiskSpace> {
      ++*calls;
      released.wait();
      return std::nullopt;
    });
    for (TimeNs now = 0; now < 100 * SpaceProbe::kInterval; now += SpaceProbe::kInterval)
      probe.look(kPlaces, now);
    REQUIRE(holds_soon([&] { return *calls == 1; }));
    CHECK_FALSE(probe.of("/data", 0));
  }
  CHECK(*calls == 1);
  release->set_value();
}
