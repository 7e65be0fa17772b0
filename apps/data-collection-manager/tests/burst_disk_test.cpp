#include "../src/burst_disk.hpp"

#include "weir_catch.hpp"
#include <weir/base/crc32c.hpp>

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

using namespace weir;
using dcm::BurstDisk;

namespace {

constexpr std::uint64_t kRecord = 100;

// Carries out operations when it is told to.
struct ScriptedDisk final : ports::ScratchDisk {
  struct Operation {
    std::uint64_t offset;
    std::uint64_t length;
    std::uint64_t token;
    const std::byte* from;
  };
  void write(std::uint64_t offset, ConstBytes from, std::uint64_t token) override {
    queue.push_back({offset, from.size(), token, from.data()});
  }
  void read(std::uint64_t offset, std::uint64_t length, std::uint64_t token) override {
    queue.push_back({offset, length, token, nullptr});
  }
  std::vector<ports::ScratchResult> take_results() override { return std::exchange(results, {}); }

  void work(const std::string& error = {}) {
    for (const Operation& one : std::exchange(queue, {})) {
      std::byte* at = bytes.data() + one.offset;
      if (error.empty() && one.from != nullptr) std::copy_n(one.from, one.length, at);
      const ConstBytes here(at, one.length);
      results.push_back({one.token, error, crc32c(here), one.from == nullptr ? here : ConstBytes(), {}});
    }
  }

  std::deque<Operation> queue;
  std::vector<ports::ScratchResult> results;
  std::vector<std::byte> bytes = std::vector<std::byte>(3000);
};

// Memory for ten records, and disk for thirty.
struct DiskRing {
  DiskRing() {
    auto made = std::make_unique<ScriptedDisk>();
    disk = made.get();
    burst_disk = std::make_unique<BurstDisk>(std::move(made), ring, memory.data());
  }
  void add(std::uint64_t slice) {
    const auto offset = ring.add(SliceId(slice), Attempt(0), static_cast<UtcNs>(slice) * kSecond, kRecord);
    REQUIRE(offset);
    std::fill_n(memory.begin() + static_cast<std::ptrdiff_t>(*offset), kRecord,
                static_cast<std::byte>(slice));
  }
  void pass() {
    burst_disk->pass(now, [this](const burst::Ring::Record& record, ConstBytes bytes, const auto&) {
      CHECK(std::ranges::all_of(bytes, [&](std::byte one) { return one == std::byte(record.slice.value); }));
      arrived.push_back(record.slice.value);
    });
  }
  void fill(std::uint64_t slices) {
    for (std::uint64_t slice = 1; slice <= slices; ++slice) {
      add(slice);
      pass();
      disk->work();
      pass();
    }
  }
  // Reads what an alert over all slices gets from disk.
  void read_all() {
    ring.open({1, 0, 1000 * kSecond});
    while (const auto record = ring.next(now)) {
      if (record->from_disk) burst_disk->read(*record);
    }
    disk->work();
    pass();
  }

  burst::Ring ring{{1000, 3000, 1'000'000'000'000, 1'000'000, 3000, 1000}};
  std::vector<std::byte> memory = std::vector<std::byte>(1000);
  ScriptedDisk* disk = nullptr;
  std::unique_ptr<BurstDisk> burst_disk;
  std::vector<std::uint64_t> arrived;
  TimeNs now = 100 * kSecond;
};

}  // namespace

TEST_CASE("records that memory has lost come from disk as they were, in order") {
  DiskRing farm;
  farm.fill(25);
  farm.read_all();
  REQUIRE(farm.arrived.size() == 15);
  CHECK(farm.arrived.front() == 1);
  CHECK(std::ranges::is_sorted(farm.arrived));
}

TEST_CASE("after a failed write the disk is tried again a second later, with the same record") {
  DiskRing farm;
  farm.add(1);
  farm.pass();
  farm.disk->work("no space");
  farm.pass();
  CHECK(farm.disk->queue.empty());
  farm.now += kSecond;
  farm.pass();
  REQUIRE(farm.disk->queue.size() == 1);
  farm.disk->work();
  farm.pass();
  CHECK(farm.ring.disk_bytes_used() == kRecord);
  CHECK(farm.ring.broken_invariant().empty());
}

TEST_CASE("a record with bytes that the disk has changed is disk_failed, and the others arrive") {
  DiskRing farm;
  farm.fill(25);
  farm.disk->bytes[250] ^= std::byte{1};
  farm.read_all();
  CHECK(farm.arrived.size() == 14);
  CHECK(std::ranges::find(farm.arrived, 3U) == farm.arrived.end());
  CHECK(farm.ring.account(1)->disk_failed.count == 1);
}
