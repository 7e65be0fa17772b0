#pragma once

#include <weir/tap/sample.hpp>

#include <cstdint>
#include <map>
#include <string>

namespace weir::tap {

// What a client got, and what it did not. Pure.
class Tally {
 public:
  // A sample that arrived under this tag.
  void add(const std::string& tag, const SampleHead& head);
  void add_malformed() { ++malformed_; }

  [[nodiscard]] std::uint64_t received() const { return received_; }
  // On the way, because this client was slow: known when a later one of the same tag has come.
  [[nodiscard]] std::uint64_t lost() const { return lost_; }
  // By the DCMs: beyond the rate or the size that the farm file allows.
  [[nodiscard]] std::uint64_t dropped() const;
  // Slices that the samples stand for.
  [[nodiscard]] std::uint64_t seen() const;
  [[nodiscard]] std::uint64_t malformed() const { return malformed_; }

 private:
  struct Place {
    SampleHead last;
    std::uint64_t dropped_before = 0;  // in numberings that are over
    std::uint64_t seen_before = 0;
  };
  std::map<std::string, Place> places_;
  std::uint64_t received_ = 0;
  std::uint64_t lost_ = 0;
  std::uint64_t malformed_ = 0;
};

}  // namespace weir::tap
