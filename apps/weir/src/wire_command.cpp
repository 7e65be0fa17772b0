#include "commands.hpp"
#include <weir/capture/capture_decoder.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weir::commands {
namespace {

constexpr std::uint64_t kFileBytesMax = std::uint64_t{2} << 30;

constexpr const char* kDecodeFooter =
    "\nCapture the data network, then decode it:\n"
    "  tcpdump -i lo -s 0 -w farm.pcap tcp\n"
    "  weir wire decode farm.pcap --slice 17\n"
    "A line has the seconds since the first packet, sender and receiver by the names of their hellos, and "
    "the\n"
    "frame. Connections with TLS cannot be decoded. libs/network/wire/FORMAT.md describes the frames.";

struct WireOptions {
  std::string file;
  std::optional<std::uint64_t> slice;
  bool messages = false;
};

// Errors are messages.
Expected<std::vector<std::byte>, std::string> read(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return Unexpected<std::string>(path + ": cannot be read");
  const std::streamoff size = file.tellg();
  if (size < 0) return Unexpected<std::string>(path + ": cannot be read");
  if (static_cast<std::uint64_t>(size) > kFileBytesMax)
    return Unexpected<std::string>(path + ": longer than 2 GiB: split the capture with tcpdump -C 1000");
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(bytes.data()), size);
  if (!file) return Unexpected<std::string>(path + ": cannot be read");
  return bytes;
}

int fail_decoding(const std::string& why) {
  fmt::print(stderr, "weir wire: {}\n", why);
  return kUsage;
}

int decode(const WireOptions& options) {
  const auto bytes = read(options.file);
  if (!bytes) return fail_decoding(bytes.error());
  capture::DecodeOptions what;
  if (options.slice) what.slice = SliceId(*options.slice);
  what.messages = options.messages;
  capture::CaptureDecoder decoder(what, [](std::string_view line) { fmt::print("{}\n", line); });
  const auto counts = decoder.decode(*bytes);
  if (!counts) return fail_decoding(options.file + ": " + counts.error());
  fmt::print(stderr, "frames={} gaps={} lost_bytes={} other_connections={} other_packets={}\n",
             counts->frames, counts->gaps, counts->lost_bytes, counts->foreign, counts->skipped);
  return counts->frames > 0 ? 0 : 1;
}

}  // namespace

void add_wire(CLI::App& app, int& status) {
  CLI::App* wire = app.add_subcommand("wire", "Decode captured traffic");
  wire->require_subcommand(1);
  auto options = std::make_shared<WireOptions>();
  CLI::App* command = wire->add_subcommand("decode", "Print the frames of a pcap file, a line each");
  command->footer(kDecodeFooter);
  command->add_option("FILE", options->file, "file written by tcpdump -w")->required();
  command->add_option("--slice", options->slice, "print only frames that mention this slice")
      ->type_name("ID");
  command->add_flag("--messages", options->messages, "also print each control message in full");
  command->callback([options, &status] { status = decode(*options); });
}

}  // namespace weir::commands
