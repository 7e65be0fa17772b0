#include "text_fields.hpp"
#include <weir/slice_rows/id_intervals.hpp>
#include <weir/slice_rows/trigger_file.hpp>

#include <algorithm>
#include <string>

namespace weir::slice_rows {
namespace {

constexpr std::string_view kBlanks = " \t\r";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // some editors begin UTF-8 text with it

// Parses a line that is neither empty nor a comment. Errors: a description of the problem.
Expected<FileTrigger, std::string> parse_line(std::string_view line) {
  FileTrigger trigger;
  const std::string_view slice = take_field(line, kBlanks);
  const auto slice_value = parse_number<std::uint64_t>(slice);
  if (!slice_value)
    return Unexpected<std::string>("the slice number " + quoted(slice) + " is not a whole number from 0 on");
  if (*slice_value > kSliceIdNamedMax.value) {
    return Unexpected<std::string>("the slice number " + quoted(slice) + " is larger than 2^62 - 2^32 - 1");
  }
  trigger.slice = SliceId(*slice_value);

  const std::string_view time = take_field(line, kBlanks);
  if (time.empty()) return Unexpected<std::string>("the time in ns is missing after the slice number");
  const auto time_value = parse_number<std::int64_t>(time);
  if (!time_value)
    return Unexpected<std::string>("the time " + quoted(time) + " is not a whole number of ns");
  trigger.time = *time_value;

  const std::string_view type = take_field(line, kBlanks);
  if (type.empty()) return trigger;
  const auto type_value = parse_number<std::uint32_t>(type);
  if (!type_value)
    return Unexpected<std::string>("the type " + quoted(type) + " is not a number from 0 to 2^32 - 1");
  trigger.type = TriggerType(*type_value);

  const std::string_view payload = take_field(line, kBlanks);
  auto bytes = parse_hex(payload);
  if (!bytes)
    return Unexpected<std::string>("the payload " + quoted(payload) +
                                   " is not an even number of hexadecimal digits");
  trigger.payload = std::move(*bytes);

  const std::string_view rest = take_field(line, kBlanks);
  if (!rest.empty())
    return Unexpected<std::string>("nothing may follow the payload, but " + quoted(rest) + " does");
  return trigger;
}

}  // namespace

Expected<std::vector<FileTrigger>, std::string> parse_trigger_file(std::string_view text,
                                                                   std::string_view path) {
  std::vector<FileTrigger> triggers;
  IdIntervals given;
  std::size_t line_number = 0;
  const auto failure = [&](const std::string& what) {
    return Unexpected<std::string>(std::string(path) + ":" + std::to_string(line_number) + ": " + what);
  };
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) text.remove_prefix(kByteOrderMark.size());
  while (!text.empty()) {
    ++line_number;
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    line = line.substr(0, line.find('#'));
    if (line.find_first_not_of(kBlanks) == std::string_view::npos) continue;
    auto trigger = parse_line(line);
    if (!trigger) return failure(trigger.error());
    if (given.contains(trigger->slice))
      return failure("slice " + std::to_string(trigger->slice.value) + " is in the file twice");
    given.add(trigger->slice);
    triggers.push_back(std::move(*trigger));
  }
  return triggers;
}

std::optional<std::size_t> first_descending(const std::vector<FileTrigger>& triggers) {
  for (std::size_t i = 1; i < triggers.size(); ++i) {
    if (triggers[i].slice < triggers[i - 1].slice) return i;
  }
  return std::nullopt;
}

}  // namespace weir::slice_rows
