#include <weir/base/assert.hpp>
#include <weir/capture/capture_decoder.hpp>
#include <weir/capture/frame_text.hpp>
#include <weir/capture/tcp_direction.hpp>
#include <weir/wire/frame_parser.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace weir::capture {
namespace {

// The largest payload that a farm file allows (network.frame_bytes_max): a longer one is not a frame.
constexpr std::uint32_t kPayloadMax = UINT32_MAX;

bool begins_with_frame(ConstBytes bytes) {
  return bytes.size() >= wire::kHeaderBytes &&
         wire::decode_header(bytes.first<wire::kHeaderBytes>(), kPayloadMax).has_value();
}

}  // namespace

// One direction of a connection: bytes to frames to lines.
class CaptureDecoder::Direction final : public TcpSink, public wire::FrameSink {
 public:
  Direction(CaptureDecoder& decoder, std::string from) : decoder_(decoder), name_(std::move(from)) {}

  void set_peer(Direction* peer) { peer_ = peer; }
  void take(const CapturedSegment& segment) {
    utc_ns_ = segment.utc_ns;
    if (segment.begins) {
      restart();
      bytes_.begin(segment.sequence);
    }
    bytes_.take(segment.sequence, segment.payload, *this);
  }
  void end() { bytes_.end(*this); }
  [[nodiscard]] bool has_frames() const { return has_frames_; }
  [[nodiscard]] const std::string& name() const { return name_; }

  void on_bytes(ConstBytes bytes) override {
    if (!parser_) {
      if (!begins_with_frame(bytes)) {
        if (has_frames_) decoder_.counts_.lost_bytes += bytes.size();
        return;
      }
      parser_.emplace(kPayloadMax);
    }
    while (!bytes.empty()) {
      const auto space = parser_->receive_space();
      std::size_t given = 0;
      for (const Bytes& part : space) {
        const std::size_t now = std::min(part.size(), bytes.size());
        std::copy_n(bytes.begin(), now, part.begin());
        bytes = bytes.subspan(now);
        given += now;
      }
      WEIR_ASSERT(given > 0);
      if (const auto good = parser_->received(given, *this); !good) {
        print(fmt::format("broken frame error={}", wire::name(good.error())));
        restart();
        decoder_.counts_.lost_bytes += bytes.size();
        return;
      }
    }
  }
  void on_gap(std::uint32_t bytes) override {
    if (has_frames_) {
      ++decoder_.counts_.gaps;
      decoder_.counts_.lost_bytes += bytes;
      print(fmt::format("gap bytes={}", bytes));
    }
    restart();
  }

  wire::PayloadPlace on_header(const wire::FrameHeader& header) override {
    const bool bulk = header.type == wire::FrameType::fragment || header.type == wire::FrameType::data;
    return {bulk ? wire::PayloadPlace::Kind::discard : wire::PayloadPlace::Kind::whole, nullptr};
  }
  Expected<void, wire::WireError> on_frame(const wire::FrameHeader& header, ConstBytes payload) override {
    has_frames_ = true;
    ++decoder_.counts_.frames;
    if (header.type == wire::FrameType::control && header.total > 0) {
      part_of_message(header, payload);
      return {};
    }
    const FrameText text = describe(header, payload);
    if (!text.name.empty()) name_ = text.name;
    show(text);
    return {};
  }

 private:
  void restart() {
    parser_.reset();
    message_.clear();
    message_frames_ = 0;
  }
  // A long control message comes in several frames.
  void part_of_message(const wire::FrameHeader& header, ConstBytes payload) {
    if (header.offset != message_.size() || header.total > wire::kControlMessageMax) {
      print("control part of an incomplete message");
      message_.clear();
      message_frames_ = 0;
      return;
    }
    message_.insert(message_.end(), payload.begin(), payload.end());
    ++message_frames_;
    if (message_.size() < header.total) return;
    show(describe_control(message_, message_frames_));
    message_.clear();
    message_frames_ = 0;
  }
  void show(const FrameText& text) {
    const auto& slice = decoder_.options_.slice;
    if (slice && std::find(text.slices.begin(), text.slices.end(), *slice) == text.slices.end()) return;
    print(text.line);
    if (decoder_.options_.messages && !text.message.empty()) decoder_.print_("    " + text.message);
  }
  void print(const std::string& what) {
    const double seconds = static_cast<double>(utc_ns_ - decoder_.first_utc_ns_) / 1e9;
    decoder_.print_(
        fmt::format("{:.6f} {} > {} {}", seconds, name_, peer_ == nullptr ? "?" : peer_->name(), what));
  }

  CaptureDecoder& decoder_;
  std::string name_;
  Direction* peer_ = nullptr;
  TcpDirection bytes_;
  std::optional<wire::FrameParser> parser_;  // empty: waits for a segment that begins with a frame
  bool has_frames_ = false;
  UtcNs utc_ns_ = 0;  // of the present segment
  std::vector<std::byte> message_;
  std::size_t message_frames_ = 0;
};

CaptureDecoder::CaptureDecoder(const DecodeOptions& options, Print print)
    : options_(options), print_(std::move(print)) {}

CaptureDecoder::~CaptureDecoder() = default;

CaptureDecoder::Direction& CaptureDecoder::direction(const CapturedSegment& segment) {
  auto& there = directions_[{segment.from, segment.to}];
  if (there) return *there;
  there = std::make_unique<Direction>(*this, to_text(segment.from));
  auto& back = directions_[{segment.to, segment.from}];
  if (!back) back = std::make_unique<Direction>(*this, to_text(segment.to));
  there->set_peer(back.get());
  back->set_peer(there.get());
  return *there;
}

Expected<DecodeCounts, std::string> CaptureDecoder::decode(ConstBytes file) {
  auto reader = PcapReader::open(file);
  if (!reader) return Unexpected(reader.error());
  bool first = true;
  while (const auto segment = reader->next()) {
    if (std::exchange(first, false)) first_utc_ns_ = segment->utc_ns;
    direction(*segment).take(*segment);
  }
  for (const auto& [ends, direction] : directions_) direction->end();
  for (const auto& [ends, direction] : directions_) {
    const Direction& back = *directions_.at({ends.second, ends.first});
    if (ends.first <= ends.second && !direction->has_frames() && !back.has_frames()) ++counts_.foreign;
  }
  counts_.skipped = reader->skipped();
  return counts_;
}

}  // namespace weir::capture
