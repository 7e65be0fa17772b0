#pragma once

#include <weir/base/bytes.hpp>
#include <weir/storage/format.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace weir::storage {

// Appends little-endian fields to a vector.
class FieldWriter {
 public:
  explicit FieldWriter(std::vector<std::byte>& out) : out_(out), start_(out.size()) {}

  template <class T>
  FieldWriter& put(T value) {
    const std::size_t at = out_.size();
    out_.resize(at + sizeof(T));
    store_le(out_.data() + at, value);
    return *this;
  }
  FieldWriter& put_bytes(ConstBytes bytes) {
    out_.insert(out_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  FieldWriter& put_text(std::string_view text) { return put_bytes(std::as_bytes(std::span(text))); }
  FieldWriter& pad() {
    out_.resize(start_ + padded(written()));
    return *this;
  }
  [[nodiscard]] std::size_t written() const { return out_.size() - start_; }
  [[nodiscard]] std::byte* at(std::size_t offset) { return out_.data() + start_ + offset; }
  [[nodiscard]] ConstBytes view(std::size_t from) const { return ConstBytes(out_).subspan(start_ + from); }

 private:
  std::vector<std::byte>& out_;
  std::size_t start_;
};

}  // namespace weir::storage
