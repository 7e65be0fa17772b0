#include "text_fields.hpp"
#include <weir/slice_rows/trigger_text.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace weir::slice_rows {
namespace {

constexpr std::string_view kBlank = " ";

enum class Word : std::uint8_t { slice, time, type, data, client, session, n, mac };
constexpr std::array<std::pair<std::string_view, Word>, 8> kTextWords{{{"slice", Word::slice},
                                                                       {"time", Word::time},
                                                                       {"type", Word::type},
                                                                       {"data", Word::data},
                                                                       {"client", Word::client},
                                                                       {"session", Word::session},
                                                                       {"n", Word::n},
                                                                       {"mac", Word::mac}}};

Unexpected<std::string> wrong(std::string why) { return Unexpected<std::string>(std::move(why)); }

// Takes a number of the value's type. Returns false if the text is none.
template <class T>
bool take_number(std::string_view text, T& value) {
  const auto number = parse_number<T>(text);
  value = number.value_or(T{});
  return number.has_value();
}

bool take_bytes(std::string_view text, std::vector<std::byte>& bytes) {
  auto parsed = text.size() <= 2 * kTextPayloadMax ? parse_hex(text) : std::nullopt;
  if (parsed) bytes = std::move(*parsed);
  return parsed.has_value();
}

bool is_name(std::string_view text) {
  const auto good = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '_' || c == '-';
  };
  return !text.empty() && text.size() <= kTextClientMax && std::all_of(text.begin(), text.end(), good);
}

// Takes the value of a word. Returns a description of the proper values; nullptr if it is one of them.
const char* take_value(Word word, std::string_view value, TextRequest& out) {
  switch (word) {
    case Word::slice: {
      std::uint64_t slice = 0;
      if (!take_number(value, slice) || slice > kSliceIdNamedMax.value)
        return "a whole number from 0 to 2^62 - 2^32 - 1";
      out.slice = SliceId(slice);
      return nullptr;
    }
    case Word::time:
      return take_number(value, out.time) ? nullptr : "a whole number of ns since 1970";
    case Word::type:
      return take_number(value, out.type.value) ? nullptr : "a whole number from 0 to 2^32 - 1";
    case Word::data:
      return take_bytes(value, out.payload) ? nullptr : "pairs of hexadecimal digits, up to 4000 bytes";
    case Word::client:
      out.number.client = value;
      return is_name(value) ? nullptr : "up to 64 letters, digits, '.', '_', '-'";
    case Word::session:
      return take_number(value, out.number.session) ? nullptr : "a whole number up to 2^64 - 1";
    case Word::n:
      return take_number(value, out.number.number) && out.number.number > 0 ? nullptr
                                                                            : "a whole number from 1 on";
    case Word::mac:
      out.mac = value;
      return value.empty() ? "64 hexadecimal digits" : nullptr;
  }
  return nullptr;
}

std::string mark(const TriggerNumber& number) {
  if (number.number == 0) return "\n";
  return " n=" + std::to_string(number.number) + " session=" + std::to_string(number.session) + "\n";
}

}  // namespace

Expected<TextRequest, std::string> parse_trigger_text(std::string_view line) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  if (line.size() > kTextLineMax)
    return wrong("line longer than " + std::to_string(kTextLineMax) + " bytes: send less `data`");
  if (std::any_of(line.begin(), line.end(), [](char c) { return c < ' ' || c > '~'; }))
    return wrong(
        "byte outside printable ASCII: send words separated by blanks, and end lines by a line feed");
  TextRequest request;
  std::string_view rest = line;
  const std::string_view first = take_field(rest, kBlank);
  if (first.empty() || first.front() == '#') return request;
  if (first == "hello" && take_field(rest, kBlank).empty()) {
    request.kind = TextRequest::Kind::hello;
    return request;
  }
  if (first != "trigger") return wrong("request " + quoted(first) + " is unknown: send `trigger` or `hello`");
  request.kind = TextRequest::Kind::trigger;
  request.signed_part = line;
  std::uint32_t seen = 0;
  for (std::string_view word = take_field(rest, kBlank); !word.empty(); word = take_field(rest, kBlank)) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string_view name = word.substr(0, equals);
    const auto found = std::find_if(kTextWords.begin(), kTextWords.end(),
                                    [&](const auto& each) { return each.first == name; });
    if (equals == word.size() || found == kTextWords.end())
      return wrong("word " + quoted(word) +
                   " is unknown: slice=, time=, type=, data=, client=, session=, n= and mac= exist");
    if (!request.mac.empty()) return wrong(quoted(word) + " follows mac=, which must be the last word");
    const std::uint32_t bit = 1U << static_cast<unsigned>(found->second);
    if ((seen & bit) != 0) return wrong("word " + std::string(name) + "= occurs twice: send it once");
    seen |= bit;
    const char* const should =
        take_value(found->second, word.substr(std::min(equals + 1, word.size())), request);
    if (should != nullptr) return wrong(quoted(word) + " is not " + std::string(name) + "= and " + should);
    if (found->second == Word::mac)
      request.signed_part = line.substr(0, static_cast<std::size_t>(word.data() - line.data()) - 1);
  }
  constexpr auto kBit = [](Word word) { return 1U << static_cast<unsigned>(word); };
  constexpr std::uint32_t kIdentity = kBit(Word::client) | kBit(Word::session) | kBit(Word::n);
  if ((seen & kIdentity) != 0 && (seen & kIdentity) != kIdentity)
    return wrong("client=, session= and n= come together: one of them is missing");
  return request;
}

std::string_view busy_name(const OfferResult& answer) {
  return answer.reason == VetoReason::none ? "not_running" : name(answer.reason);
}

std::string to_text(const OfferResult& answer, const TriggerNumber& number) {
  if (answer.taken) return "taken " + std::to_string(answer.slice.value) + mark(number);
  return "busy " + std::string(busy_name(answer)) + mark(number);
}

std::string error_text(std::string_view what, const TriggerNumber& number) {
  return "error " + std::string(what) + mark(number);
}

}  // namespace weir::slice_rows
