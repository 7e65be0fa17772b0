#include "weir_catch.hpp"
#include <weir/simnet/disk.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

using namespace weir;
using ports::DiskError;
using ports::FileId;
using simnet::DiskImage;
using simnet::Random;
using simnet::SimDisk;
using simnet::Timeline;

namespace {

struct Events final : ports::DiskHandler {
  void on_disk_event(const ports::DiskEvent& event) override { seen.push_back(event); }
  std::vector<ports::DiskEvent> seen;
};

struct Rig {
  DiskImage image;
  Timeline timeline;
  std::unique_ptr<SimDisk> disk =
      std::make_unique<SimDisk>(image, timeline, Random(1), simnet::DiskSettings{}, [] {});
  Events events;

  void append(const std::string& text) {
    auto owner = std::make_shared<std::string>(text);
    const ConstBytes bytes(reinterpret_cast<const std::byte*>(owner->data()), owner->size());
    disk->append(FileId(1), {bytes}, owner, 2);
  }
  DiskError run() {
    while (timeline.step(timeline.now_ns() + kSecond)) {
    }
    disk->deliver(events);
    return events.seen.back().error;
  }
};

}  // namespace

TEST_CASE("what was synced survives a loss of power, and nothing else for certain") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Rig rig;
    rig.disk->create(FileId(1), "f", 1);
    rig.append(std::string(3000, 'a'));
    rig.disk->sync(FileId(1), 3);
    rig.append(std::string(3000, 'b'));
    REQUIRE(rig.run() == DiskError::none);
    rig.disk.reset();
    Random random(seed);
    rig.image.lose_power(random);
    const auto& file = rig.image.files().at("f");
    REQUIRE(file.bytes.size() >= 3000);
    CHECK(file.bytes.size() <= 6000);
    CHECK(std::all_of(file.bytes.begin(), file.bytes.begin() + 3000,
                      [](std::byte b) { return b == std::byte{'a'}; }));
  }
}

TEST_CASE("a process that is killed inside an append leaves a part of it, and what it appended before") {
  bool torn = false;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Rig rig;
    rig.disk =
        std::make_unique<SimDisk>(rig.image, rig.timeline, Random(seed), simnet::DiskSettings{}, [] {});
    rig.disk->create(FileId(1), "f", 1);
    rig.append("first");
    REQUIRE(rig.run() == DiskError::none);
    rig.append("second");
    rig.disk.reset();
    const std::size_t size = rig.image.files().at("f").bytes.size();
    CHECK(size >= 5);
    CHECK(size <= 11);
    torn = torn || (size > 5 && size < 11);
    while (rig.timeline.step(kSecond)) {  // the dead disk does nothing more
    }
    CHECK(rig.image.files().at("f").bytes.size() == size);
  }
  CHECK(torn);
}

TEST_CASE("a full disk takes what fits, fails until truncated, and goes on when there is room") {
  Rig rig;
  rig.disk->create(FileId(1), "f", 1);
  rig.append("1234");
  REQUIRE(rig.run() == DiskError::none);
  rig.image.capacity = 6;
  rig.append("5678");
  CHECK(rig.run() == DiskError::no_space);
  CHECK(rig.image.files().at("f").bytes.size() == 6);
  rig.image.capacity = UINT64_MAX;
  rig.append("5678");
  CHECK(rig.run() == DiskError::no_space);
  rig.disk->truncate(FileId(1), 4, 3);
  rig.append("5678");
  CHECK(rig.run() == DiskError::none);
  CHECK(rig.image.files().at("f").bytes.size() == 8);
}

TEST_CASE("publishing renames, and refuses a name that is taken") {
  Rig rig;
  rig.disk->create(FileId(1), "f.part", 1);
  rig.disk->create(FileId(2), "g.part", 1);
  rig.disk->publish(FileId(1), "f", 1);
  CHECK(rig.run() == DiskError::none);
  CHECK(rig.image.files().contains("f"));
  CHECK(!rig.image.files().contains("f.part"));
  rig.disk->publish(FileId(2), "f", 1);
  CHECK(rig.run() == DiskError::exists);
}
