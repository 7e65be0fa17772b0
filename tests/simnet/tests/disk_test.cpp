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

struct Fixture {
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

TEST_CASE("only synced data are certain to survive a loss of power") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Fixture fixture;
    fixture.disk->create(FileId(1), "f", 1);
    fixture.append(std::string(3000, 'a'));
    fixture.disk->sync(FileId(1), 3);
    fixture.append(std::string(3000, 'b'));
    REQUIRE(fixture.run() == DiskError::none);
    fixture.disk.reset();
    Random random(seed);
    fixture.image.lose_power(random);
    const auto& file = fixture.image.files().at("f");
    REQUIRE(file.bytes.size() >= 3000);
    CHECK(file.bytes.size() <= 6000);
    CHECK(std::all_of(file.bytes.begin(), file.bytes.begin() + 3000,
                      [](std::byte b) { return b == std::byte{'a'}; }));
  }
}

TEST_CASE("a process that is killed inside an append leaves earlier appends and part of this one") {
  bool torn = false;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Fixture fixture;
    fixture.disk = std::make_unique<SimDisk>(fixture.image, fixture.timeline, Random(seed),
                                             simnet::DiskSettings{}, [] {});
    fixture.disk->create(FileId(1), "f", 1);
    fixture.append("first");
    REQUIRE(fixture.run() == DiskError::none);
    fixture.append("second");
    fixture.disk.reset();
    const std::size_t size = fixture.image.files().at("f").bytes.size();
    CHECK(size >= 5);
    CHECK(size <= 11);
    torn = torn || (size > 5 && size < 11);
    while (fixture.timeline.step(kSecond)) {  // the dead disk completes nothing more
    }
    CHECK(fixture.image.files().at("f").bytes.size() == size);
  }
  CHECK(torn);
}

TEST_CASE("a full disk accepts a part, fails until truncated, and continues when there is room") {
  Fixture fixture;
  fixture.disk->create(FileId(1), "f", 1);
  fixture.append("1234");
  REQUIRE(fixture.run() == DiskError::none);
  fixture.image.capacity = 6;
  fixture.append("5678");
  CHECK(fixture.run() == DiskError::no_space);
  CHECK(fixture.image.files().at("f").bytes.size() == 6);
  fixture.image.capacity = UINT64_MAX;
  fixture.append("5678");
  CHECK(fixture.run() == DiskError::no_space);
  fixture.disk->truncate(FileId(1), 4, 3);
  fixture.append("5678");
  CHECK(fixture.run() == DiskError::none);
  CHECK(fixture.image.files().at("f").bytes.size() == 8);
}

TEST_CASE("publishing renames, and refuses a name that is taken") {
  Fixture fixture;
  fixture.disk->create(FileId(1), "f.part", 1);
  fixture.disk->create(FileId(2), "g.part", 1);
  fixture.disk->publish(FileId(1), "f", 1);
  CHECK(fixture.run() == DiskError::none);
  CHECK(fixture.image.files().contains("f"));
  CHECK(!fixture.image.files().contains("f.part"));
  fixture.disk->publish(FileId(2), "f", 1);
  CHECK(fixture.run() == DiskError::exists);
}
