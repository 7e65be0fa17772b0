#pragma once

#include <weir/base/ids.hpp>
#include <weir/storage/run_file_reader.hpp>

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace weir::system_test {

// The run files of one run, read back; contains the live copy of each slice.
class StoredRun {
 public:
  // Opens all run files in `folder`, including unclosed ones, except files without a header.
  explicit StoredRun(const std::string& folder);

  [[nodiscard]] std::size_t file_count() const { return files_.size(); }
  [[nodiscard]] const std::vector<storage::RunFileReader>& files() const { return files_; }
  // Returns the ids in ascending order. Throws if a slice has two live copies.
  [[nodiscard]] std::set<std::uint64_t> ids() const;
  // Visits slices in order of files and ids, and verifies every checksum. Throws on a mismatch.
  void for_each_slice(const std::function<void(const storage::SliceRecordView&)>& visit) const;
  // Returns the messages of a full verification, one a line; empty if it found no problem.
  [[nodiscard]] std::string problems() const;

 private:
  std::vector<storage::RunFileReader> files_;
};

struct DummyCheck {
  std::uint64_t slices = 0;
  std::uint64_t fragments = 0;  // fragments with correct bytes
  std::uint64_t missing = 0;
  std::uint64_t not_requested = 0;
  std::string wrong;  // the first fragment with wrong bytes
};
// Compares every stored byte with the dummy sources' pattern.
[[nodiscard]] DummyCheck check_dummy_data(const StoredRun& run);

}  // namespace weir::system_test
