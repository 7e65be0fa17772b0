#include "captured_file.hpp"
#include "weir_catch.hpp"
#include <weir/capture/capture_decoder.hpp>
#include <weir/v1/control.pb.h>
#include <weir/wire/batch.hpp>

#include <string>
#include <vector>

using namespace weir;
using namespace weir::capture;

namespace {

constexpr std::uint16_t kDcmPort = 40000;
constexpr std::uint16_t kReadoutPort = 7000;
constexpr std::uint8_t kSynFlag = 2;

// A connection of a DCM (first host) to a readout, as a capture.
struct Conversation {
  Conversation() {
    file.tcp(true, kDcmPort, kReadoutPort, 0, {}, kSynFlag);
    file.tcp(false, kReadoutPort, kDcmPort, 0, {}, kSynFlag | 0x10);
  }
  void say(bool dcm, ConstBytes bytes) {
    std::uint32_t& next = dcm ? dcm_next : readout_next;
    file.tcp(dcm, dcm ? kDcmPort : kReadoutPort, dcm ? kReadoutPort : kDcmPort, next, bytes);
    next += static_cast<std::uint32_t>(bytes.size());
  }
  void hello(bool dcm, const std::string& name) {
    v1::Hello message;
    message.set_name(name);
    message.set_role(dcm ? v1::ROLE_DCM : v1::ROLE_READOUT);
    message.set_run(1);
    say(dcm, frame(wire::FrameType::hello, message.SerializeAsString()));
  }
  static std::vector<std::byte> frame(wire::FrameType type, const std::string& payload) {
    std::vector<std::byte> out;
    wire::append_frame(type, std::as_bytes(std::span(payload)), out);
    return out;
  }
  static std::vector<std::byte> request(std::uint64_t slice) {
    wire::RequestWriter writer;
    writer.add({SliceId(slice), Attempt(0)});
    std::vector<std::byte> out;
    writer.take_frame(out);
    return out;
  }
  static std::vector<std::byte> fragment(std::uint64_t slice, std::uint32_t length) {
    std::vector<std::byte> out(wire::kHeaderBytes + length);
    wire::FrameHeader header;
    header.type = wire::FrameType::fragment;
    header.slice = SliceId(slice);
    header.source = SourceId(3);
    header.length = header.total = length;
    wire::encode_header(header, std::span(out).first<wire::kHeaderBytes>());
    return out;
  }
  static std::vector<std::byte> announce(std::uint64_t slice) {
    v1::Control control;
    control.mutable_announce()->add_slice(slice);
    control.set_pass(9);
    return frame(wire::FrameType::control, control.SerializeAsString());
  }
  std::vector<std::string> decode(const DecodeOptions& options = {}) {
    std::vector<std::string> lines;
    CaptureDecoder decoder(options, [&](std::string_view line) { lines.emplace_back(line); });
    auto done = decoder.decode(file.bytes);
    REQUIRE(done.has_value());
    counts = *done;
    return lines;
  }

  CapturedFile file;
  std::uint32_t dcm_next = 1;
  std::uint32_t readout_next = 1;
  DecodeCounts counts;
};

}  // namespace

TEST_CASE("each frame is a line with its time, the names from the hellos, and its fields") {
  Conversation talk;
  talk.hello(true, "dcm-0");
  talk.hello(false, "readout-1");
  talk.say(true, Conversation::request(17));
  talk.say(false, Conversation::fragment(17, 100));
  talk.say(false, Conversation::announce(18));
  const auto lines = talk.decode();
  REQUIRE(lines.size() == 5);
  CHECK_THAT(lines[0], Catch::ContainsSubstring("hello name=dcm-0 role=ROLE_DCM run=1"));
  CHECK(lines[2] == "0.004000 dcm-0 > readout-1 request entries=1 source_sets=0 ranges=0 slices=17");
  CHECK(lines[3] ==
        "0.005000 readout-1 > dcm-0 fragment slice=17 attempt=0 source=3 bytes=100 offset=0 total=100");
  CHECK_THAT(lines[4], Catch::ContainsSubstring("control Announce bytes=") &&
                           Catch::ContainsSubstring(" pass=9 slices=18"));
  CHECK(talk.counts.frames == 5);
  CHECK(talk.counts.gaps == 0);
  CHECK(talk.counts.foreign == 0);
}

TEST_CASE("frames that are cut into segments, or share one, are found all the same") {
  Conversation talk;
  std::vector<std::byte> bytes = Conversation::request(1);
  for (const auto& more : {Conversation::announce(2), Conversation::request(3)})
    bytes.insert(bytes.end(), more.begin(), more.end());
  const std::size_t cut = GENERATE(as<std::size_t>(), 33, 40, 60, 90);
  talk.say(true, ConstBytes(bytes).first(cut));
  talk.say(true, ConstBytes(bytes).subspan(cut));
  CHECK(talk.decode().size() == 3);
}

TEST_CASE("with a slice only the frames that mention it are printed") {
  Conversation talk;
  for (const std::uint64_t slice : {17, 18, 19}) {
    talk.say(true, Conversation::request(slice));
    talk.say(true, Conversation::announce(slice));
    talk.say(false, Conversation::fragment(slice, 8));
  }
  DecodeOptions options;
  options.slice = SliceId(18);
  const auto lines = talk.decode(options);
  REQUIRE(lines.size() == 3);
  for (const std::string& line : lines) CHECK_THAT(line, Catch::ContainsSubstring("18"));
  CHECK(talk.counts.frames == 9);
}

TEST_CASE("with messages a control message follows its line in full") {
  Conversation talk;
  talk.say(true, Conversation::announce(5));
  DecodeOptions options;
  options.messages = true;
  const auto lines = talk.decode(options);
  REQUIRE(lines.size() == 2);
  CHECK_THAT(lines[1],
             Catch::ContainsSubstring("announce { slice: 5 }") && Catch::ContainsSubstring("pass: 9"));
}

TEST_CASE("after a gap decoding resumes at a segment that begins with a frame") {
  Conversation talk;
  talk.say(true, Conversation::request(1));
  const std::vector<std::byte> lost = Conversation::fragment(2, 500);
  talk.dcm_next += static_cast<std::uint32_t>(lost.size());  // not captured
  talk.say(true, Conversation::request(3));
  const auto lines = talk.decode();
  REQUIRE(lines.size() == 3);
  CHECK_THAT(lines[1], Catch::ContainsSubstring("gap bytes=532"));
  CHECK_THAT(lines[2], Catch::ContainsSubstring("slices=3"));
  CHECK(talk.counts.gaps == 1);
  CHECK(talk.counts.lost_bytes == 532);
}

TEST_CASE("a connection without frames is counted, and does not disturb the others") {
  Conversation talk;
  const std::string text = "GET /metrics HTTP/1.1\r\nHost: a-machine-of-the-farm\r\n\r\n";
  talk.file.tcp(true, 50000, 8080, 1, std::as_bytes(std::span(text)));
  talk.say(true, Conversation::request(1));
  CHECK(talk.decode().size() == 1);
  CHECK(talk.counts.foreign == 1);
}
