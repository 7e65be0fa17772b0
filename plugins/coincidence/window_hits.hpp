#pragma once

#include <weir/base/bytes.hpp>
#include <weir/hits.hpp>
#include <weir/pieces.hpp>

#include <cstdint>
#include <deque>
#include <vector>

namespace coincidence {

// The hits of a slice's fragments. With build.by: time a fragment is a table of pieces, each with hits from
// its begin on; they get times from the window's begin.
class WindowHits {
 public:
  void clear() {
    joined_.clear();
    begin_ns_ = 0;
    length_ns_ = 0;
  }
  // Returns the fragment's hits in the format of weir/hits.hpp, valid until clear().
  [[nodiscard]] weir::ConstBytes of(weir::ConstBytes fragment) {
    const auto pieces = weir::FragmentPieces::read(fragment);
    if (!pieces) return fragment;
    begin_ns_ = pieces->before_ns();
    length_ns_ = pieces->duration_ns();
    if (pieces->empty()) return {};
    if (pieces->size() == 1 && (*pieces->begin()).offset_ns == -begin_ns_) return (*pieces->begin()).bytes;
    return join(*pieces);
  }
  // Returns from where on in the window the slice itself begins.
  [[nodiscard]] std::int64_t begin_ns() const { return begin_ns_; }
  // Returns whether a cluster with a first hit at this time belongs to the slice: one in an overlap may
  // belong to the neighbour.
  [[nodiscard]] bool begins_here(std::int64_t time_ns) const {
    return length_ns_ == 0 || (time_ns >= begin_ns_ && time_ns < begin_ns_ + length_ns_);
  }

 private:
  // Hits before the window's begin, of a piece that began earlier, are left out.
  weir::ConstBytes join(const weir::FragmentPieces& pieces) {
    std::vector<std::byte>& all = joined_.emplace_back();
    for (const weir::FragmentPiece& piece : pieces) {
      weir::HitReader reader(piece.bytes);
      std::size_t from = 0;
      while (const auto hit = reader.next()) {
        const std::int64_t time = piece.offset_ns + begin_ns_ + hit->time_ns;
        const std::size_t place = all.size();
        if (time >= 0 && time <= UINT32_MAX) {
          const weir::ConstBytes bytes = piece.bytes.subspan(from, reader.offset() - from);
          all.insert(all.end(), bytes.begin(), bytes.end());
          weir::store_le(all.data() + place + 1, static_cast<std::uint32_t>(time));
        }
        from = reader.offset();
      }
    }
    return all;
  }

  std::deque<std::vector<std::byte>> joined_;
  std::int64_t begin_ns_ = 0;
  std::int64_t length_ns_ = 0;
};

}  // namespace coincidence
