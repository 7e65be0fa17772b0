#pragma once

#include <weir/base/bytes.hpp>
#include <weir/base/expected.hpp>
#include <weir/storage/error.hpp>

#include <string>

namespace weir::storage {

// A file's bytes, read-only, valid as long as the object. The file may grow meanwhile (unnoticed), but must
// not shrink.
class MappedFile {
 public:
  [[nodiscard]] static Expected<MappedFile, StorageFailure> open(const std::string& path);
  MappedFile() = default;
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  [[nodiscard]] ConstBytes bytes() const { return bytes_; }

 private:
  ConstBytes bytes_;
};

}  // namespace weir::storage
