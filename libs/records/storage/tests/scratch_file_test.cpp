#include "small_disk.hpp"
#include "temporary_folder.hpp"
#include "weir_catch.hpp"
#include <weir/base/crc32c.hpp>
#include <weir/storage/scratch_file.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <semaphore>
#include <vector>

using namespace weir;
using weir::storage::ScratchFile;
using weir::test::SmallDisk;
using weir::test::TemporaryFolder;

namespace {

constexpr std::size_t kRecord = 100'000;

struct Scratch {
  Scratch(const std::string& folder, std::uint64_t bytes)
      : file(folder, bytes, [this] { woken.release(); }) {}

  // Returns the next `count` results by token.
  std::map<std::uint64_t, ports::ScratchResult> wait_for(std::size_t count) {
    std::map<std::uint64_t, ports::ScratchResult> results;
    while (results.size() < count) {
      woken.acquire();
      for (ports::ScratchResult& result : file.take_results())
        results.emplace(result.token, std::move(result));
    }
    return results;
  }

  std::counting_semaphore<> woken{0};
  ScratchFile file;
};

std::vector<std::byte> record(std::uint8_t number) {
  std::vector<std::byte> bytes(kRecord);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(number + i * 7);
  return bytes;
}

}  // namespace

TEST_CASE("a scratch file returns the bytes that were written last, and leaves no name on disk") {
  const TemporaryFolder folder;
  Scratch scratch(folder / "ring", 200 * kRecord);
  std::vector<std::vector<std::byte>> records;
  for (std::uint8_t i = 0; i < 200; ++i) records.push_back(record(i));
  for (std::uint64_t i = 0; i < 200; ++i) scratch.file.write(i * kRecord, records[i], i);
  for (auto& [token, result] : scratch.wait_for(200)) {
    CHECK(result.error.empty());
    CHECK(result.crc32c == crc32c(records[token]));
  }
  scratch.file.write(3 * kRecord, records[7], 3);
  CHECK(scratch.wait_for(1).at(3).error.empty());
  for (std::uint64_t i = 0; i < 200; ++i) scratch.file.read(i * kRecord, kRecord, i);
  for (auto& [token, result] : scratch.wait_for(200)) {
    CHECK(result.error.empty());
    const std::vector<std::byte>& expected = records[token == 3 ? 7 : token];
    CHECK(result.crc32c == crc32c(expected));
    CHECK(std::ranges::equal(result.bytes, expected));
  }
  CHECK(std::filesystem::is_empty(folder / "ring"));
}

TEST_CASE("a scratch file that cannot be made says where and why, and is made once it can be") {
  const TemporaryFolder folder;
  std::ofstream(folder / "taken") << "a file";
  Scratch scratch(folder / "taken", 2 * kRecord);
  const std::vector<std::byte> bytes = record(1);
  scratch.file.write(0, bytes, 1);
  CHECK(scratch.wait_for(1).at(1).error.find(folder / "taken") == 0);
  std::filesystem::remove(folder / "taken");
  scratch.file.write(0, bytes, 2);
  CHECK(scratch.wait_for(1).at(2).error.empty());
  scratch.file.read(kRecord, kRecord, 3);  // never written
  scratch.file.read(2 * kRecord, 1, 4);    // behind the end
  auto results = scratch.wait_for(2);
  CHECK(results.at(3).error.empty());
  CHECK(results.at(4).error.find("cannot read") != std::string::npos);
}

TEST_CASE("a scratch file that does not fit the disk fails as a whole, and is reserved when there is room") {
  const TemporaryFolder folder;
  const SmallDisk disk(folder / "small", 8);
  if (!disk.mounted()) return;
  disk.fill(6);
  Scratch scratch(folder / "small", 4 << 20);
  const std::vector<std::byte> bytes = record(1);
  scratch.file.write(0, bytes, 1);
  CHECK(scratch.wait_for(1).at(1).error.find("burst.disk_bytes") != std::string::npos);
  disk.make_room();
  scratch.file.write(0, bytes, 2);
  CHECK(scratch.wait_for(1).at(2).error.empty());
  disk.fill_up();
  scratch.file.write((4 << 20) - kRecord, bytes, 3);  // reserved: others do not take it
  CHECK(scratch.wait_for(1).at(3).error.empty());
}

TEST_CASE("a scratch file ends with operations in its queue") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "ring");
  const std::vector<std::byte> bytes = record(1);
  for (int i = 0; i < 20; ++i) {
    Scratch scratch(folder / "ring", 1000 * kRecord);
    for (std::uint64_t at = 0; at < 1000; ++at) scratch.file.write(at * kRecord, bytes, at);
  }
  CHECK(std::filesystem::is_empty(folder / "ring"));
}
