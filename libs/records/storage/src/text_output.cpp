#include "text_output.hpp"

#include <weir/base/fragment_status.hpp>
#include <weir/base/text.hpp>
#include <weir/pieces.hpp>
#include <weir/storage/slice_record.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>

namespace weir::storage {
namespace {

bool is_plain(unsigned char c) { return c >= 0x20 && c < 0x7f; }

}  // namespace

std::string human_bytes(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  constexpr double kStep = 1024;
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= kStep && unit + 1 < kUnits.size(); ++unit) value /= kStep;
  if (unit == 0) return fmt::format("{} B", bytes);
  return fmt::format("{:.2f} {} ({} B)", value, kUnits[unit], bytes);
}

std::string human_utc(UtcNs time) {
  std::int64_t seconds = time / kSecond;
  std::int64_t rest = time % kSecond;
  if (rest < 0) {
    rest += kSecond;
    --seconds;
  }
  const std::time_t when = seconds;
  std::tm parts{};
  if (::gmtime_r(&when, &parts) == nullptr) return fmt::format("{} ns", time);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:09}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, rest);
}

std::string human_duration(DurationNs duration) {
  const auto value = static_cast<double>(duration);
  if (duration >= kSecond) return fmt::format("{:g} s", value / static_cast<double>(kSecond));
  if (duration >= kMillisecond) return fmt::format("{:g} ms", value / static_cast<double>(kMillisecond));
  if (duration >= kMicrosecond) return fmt::format("{:g} us", value / static_cast<double>(kMicrosecond));
  return fmt::format("{} ns", duration);
}

std::string slice_flags_text(std::uint16_t flags) {
  std::string text;
  const auto add = [&](std::uint16_t flag, std::string_view flag_name) {
    if ((flags & flag) != 0) text += (text.empty() ? "" : ",") + std::string(flag_name);
  };
  add(slice_flag::incomplete, "incomplete");
  add(slice_flag::unfiltered, "unfiltered");
  add(slice_flag::poison, "poison");
  return text.empty() ? "-" : text;
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text[0]);
    std::size_t length = utf8_length(text);
    if (byte == '"' || byte == '\\') out += '\\';
    if (length > 1 || is_plain(byte)) {
      out += text.substr(0, length);
    } else {
      out += fmt::format("\\u{:04x}", byte);
      length = 1;
    }
    text.remove_prefix(length);
  }
  return out + "\"";
}

std::string hex_dump(ConstBytes bytes, std::size_t bytes_max, std::string_view indent) {
  constexpr std::size_t kPerLine = 16;
  const std::size_t shown = std::min(bytes.size(), bytes_max);
  std::string out;
  for (std::size_t line = 0; line < shown; line += kPerLine) {
    const std::size_t count = std::min(kPerLine, shown - line);
    out += fmt::format("{}{:08x} ", indent, line);
    for (std::size_t i = 0; i < kPerLine; ++i) {
      out += i < count ? fmt::format(" {:02x}", std::to_integer<unsigned>(bytes[line + i])) : "   ";
    }
    out += "  |";
    for (std::size_t i = 0; i < count; ++i) {
      const auto byte = std::to_integer<unsigned char>(bytes[line + i]);
      out += is_plain(byte) ? static_cast<char>(byte) : '.';
    }
    out += "|\n";
  }
  if (shown < bytes.size()) out += fmt::format("{}... {} B more\n", indent, bytes.size() - shown);
  return out;
}

std::string pieces_text(ConstBytes bytes, std::size_t pieces_max, std::string_view indent) {
  constexpr std::size_t kBytesShown = 16;
  const auto pieces = FragmentPieces::read(bytes);
  if (!pieces) return {};
  std::string text =
      fmt::format("{}window {}, {}, {} before and {} after, pieces: {}\n", indent,
                  human_utc(pieces->time_ns()), human_duration(pieces->duration_ns()),
                  human_duration(pieces->before_ns()), human_duration(pieces->after_ns()), pieces->size());
  std::size_t shown = 0;
  for (const FragmentPiece& piece : *pieces) {
    if (shown++ == pieces_max) {
      text += fmt::format("{}...\n", indent);
      break;
    }
    const auto status = static_cast<FragmentStatus>(piece.status);
    text += fmt::format(
        "{}at {:+} ns, {} ns, {} B, {}{}: ", indent, piece.offset_ns, piece.duration_ns, piece.bytes.size(),
        status <= FragmentStatus::out_of_step ? name(status) : std::string_view("unknown status"),
        piece.border ? ", border" : "");
    for (const std::byte byte : piece.bytes.first(std::min(kBytesShown, piece.bytes.size())))
      text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
    text += piece.bytes.size() > kBytesShown ? "...\n" : "\n";
  }
  return text;
}

}  // namespace weir::storage
