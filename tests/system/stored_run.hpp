#pragma once

#include <weir/base/ids.hpp>
#include <weir/storage/run_file_reader.hpp>

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace weir::system_test {

// The run files of one run, read back: of each slice the copy that counts.
class StoredRun {
 public:
  // All run files in `folder`; files that were not closed belong to them, those without a header do not.
  explicit StoredRun(const std::string& folder);

  [[nodiscard]] std::size_t file_count() const { return files_.size(); }
  [[nodiscard]] const std::vector<storage::RunFileReader>& files() const { return files_; }
  // Ascending; throws when a slice has two copies that count.
  [[nodiscard]] std::set<std::uint64_t> ids() const;
  // In order of files and ids. Every checksum is checked; throws when one does not fit.
  void for_each_slice(const std::function<void(const storage::SliceRecordView&)>& visit) const;
  // The sentences of a full verification, one a line; empty: all is well.
  [[nodiscard]] std::string problems() const;

 private:
  std::vector<storage::RunFileReader> files_;
};

struct DummyCheck {
  std::uint64_t slices = 0;
  std::uint64_t fragments = 0;  // with bytes, all of them right
  std::uint64_t missing = 0;
  std::uint64_t not_requested = 0;
  std::string wrong;  // the first fragment whose bytes are not those that its source made
};
// Compares every stored byte with what dummy sources make.
[[nodiscard]] DummyCheck check_dummy_data(const StoredRun& run);

}  // namespace weir::system_test
