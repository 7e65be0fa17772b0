#pragma once

#include <weir/base/bytes.hpp>
#include <weir/base/ids.hpp>
#include <weir/storage/format.hpp>
#include <weir/storage/slice_record.hpp>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

namespace weir::tap_client {

enum class Added : std::uint8_t { written, known, other_run };

// A run file (libs/records/storage/FORMAT.md) of samples: PATH.part until close(). Never replaces an existing
// file. Throws std::runtime_error if the disk refuses.
class SampleFile {
 public:
  // `note` is written to its begin-of-run record. The file is created with the first slice, and has that
  // slice's run.
  SampleFile(std::string path, std::string farm, std::string note);
  ~SampleFile();  // without close() the .part remains; `weir file` can read it
  SampleFile(const SampleFile&) = delete;
  SampleFile& operator=(const SampleFile&) = delete;

  // known: a copy of that slice is in the file. A slice of another run is not written.
  Added add(const storage::SliceRecordView& slice);
  // Writes index and footer, and gives the file its name, durably. Without a slice no file is made.
  void close();
  [[nodiscard]] std::size_t slices() const { return index_.size(); }

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  void begin(RunNumber run);
  void write(ConstBytes bytes);
  // Returns the offset of its head.
  std::uint64_t write_record(storage::RecordType type, ConstBytes body);
  [[noreturn]] void fail(const std::string& what) const;

  std::string path_;
  std::string farm_;
  std::string note_;
  std::unique_ptr<std::FILE, Closer> file_;
  RunNumber run_;
  std::uint32_t tag_ = 0;
  std::uint64_t size_ = 0;
  std::uint32_t crc_ = 0;
  std::uint64_t records_ = 0;
  std::vector<storage::IndexEntry> index_;
  std::unordered_set<std::uint64_t> known_;
};

}  // namespace weir::tap_client
