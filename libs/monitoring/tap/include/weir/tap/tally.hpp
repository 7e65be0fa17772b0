#pragma once

#include <weir/tap/sample.hpp>

#include <cstdint>
#include <map>
#include <string>

namespace weir::tap {

// A client's received and lost samples. Pure.
class Tally {
 public:
  // Counts a sample that arrived under this tag.
  void add(const std::string& tag, const SampleHead& head);
  void add_malformed() { ++malformed_; }

  [[nodiscard]] std::uint64_t received() const { return received_; }
  // Returns the samples lost in transit because this client was slow; known once a later one of the same tag
  // has arrived.
  [[nodiscard]] std::uint64_t lost() const { return lost_; }
  // Returns the samples dropped by the DCMs, beyond the farm file's limits of rate or size.
  [[nodiscard]] std::uint64_t dropped() const;
  // Returns the slices that the samples represent.
  [[nodiscard]] std::uint64_t seen() const;
  [[nodiscard]] std::uint64_t malformed() const { return malformed_; }

 private:
  struct Place {
    SampleHead last;
    std::uint64_t dropped_before = 0;  // in earlier numberings
    std::uint64_t seen_before = 0;
  };
  std::map<std::string, Place> places_;
  std::uint64_t received_ = 0;
  std::uint64_t lost_ = 0;
  std::uint64_t malformed_ = 0;
};

}  // namespace weir::tap
