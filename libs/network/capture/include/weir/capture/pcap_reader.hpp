#pragma once

#include <weir/base/bytes.hpp>
#include <weir/base/expected.hpp>
#include <weir/base/time.hpp>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace weir::capture {

// Address and port of one side of a connection. An IPv4 address is in the first four bytes.
struct CapturedEndpoint {
  std::array<std::byte, 16> address{};
  std::uint16_t port = 0;
  bool is_v6 = false;
  auto operator<=>(const CapturedEndpoint&) const = default;
};

// Returns "127.0.0.1:7000" or "[::1]:7000".
[[nodiscard]] std::string to_text(const CapturedEndpoint& endpoint);

// One TCP segment. `payload` refers to the bytes of the file.
struct CapturedSegment {
  UtcNs utc_ns = 0;
  CapturedEndpoint from;
  CapturedEndpoint to;
  std::uint32_t sequence = 0;  // of the first payload byte
  bool begins = false;         // SYN
  bool cut = false;            // the capture does not contain the whole payload
  ConstBytes payload;
};

// Reads the TCP segments of a pcap file. Skips other packets, and IP fragments, and counts them.
class PcapReader {
 public:
  // Requires: `file` outlives the reader and its segments. Errors: not a pcap file, or an unsupported link
  // type, with the remedy.
  [[nodiscard]] static Expected<PcapReader, std::string> open(ConstBytes file);

  // Returns the next segment; nullopt at the end. A truncated last packet counts as skipped.
  [[nodiscard]] std::optional<CapturedSegment> next();
  [[nodiscard]] std::uint64_t skipped() const { return skipped_; }

 private:
  PcapReader(ConstBytes file, bool swapped, bool nanoseconds, std::uint32_t link)
      : rest_(file), swapped_(swapped), nanoseconds_(nanoseconds), link_(link) {}
  [[nodiscard]] std::uint32_t number(std::size_t offset) const;
  [[nodiscard]] std::optional<CapturedSegment> segment_of(ConstBytes packet) const;

  ConstBytes rest_;
  bool swapped_;
  bool nanoseconds_;
  std::uint32_t link_;
  std::uint64_t skipped_ = 0;
};

}  // namespace weir::capture
