#pragma once

#include <weir/base/bytes.hpp>
#include <weir/base/expected.hpp>
#include <weir/base/ids.hpp>
#include <weir/capture/pcap_reader.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace weir::capture {

struct DecodeOptions {
  std::optional<SliceId> slice;  // only frames that mention it
  bool messages = false;         // print control messages in full
};

struct DecodeCounts {
  std::uint64_t frames = 0;      // found, printed or not
  std::uint64_t gaps = 0;        // places with missing bytes
  std::uint64_t lost_bytes = 0;  // in gaps, or before a frame was found after one
  std::uint64_t foreign = 0;     // connections without any frame
  std::uint64_t skipped = 0;     // packets that are not TCP
};

// Decodes the frames of a capture, connection by connection, and passes a line for each to `print`:
//   seconds sender > receiver frame
// Senders and receivers are names from hellos, or addresses before them.
class CaptureDecoder {
 public:
  using Print = std::function<void(std::string_view line)>;

  CaptureDecoder(const DecodeOptions& options, Print print);
  ~CaptureDecoder();
  CaptureDecoder(const CaptureDecoder&) = delete;
  CaptureDecoder& operator=(const CaptureDecoder&) = delete;

  // Decodes the whole file. Requires: called once. Errors: PcapReader::open().
  [[nodiscard]] Expected<DecodeCounts, std::string> decode(ConstBytes file);

 private:
  class Direction;
  using Ends = std::pair<CapturedEndpoint, CapturedEndpoint>;

  [[nodiscard]] Direction& direction(const CapturedSegment& segment);

  DecodeOptions options_;
  Print print_;
  DecodeCounts counts_;
  std::map<Ends, std::unique_ptr<Direction>> directions_;
  UtcNs first_utc_ns_ = 0;
};

}  // namespace weir::capture
