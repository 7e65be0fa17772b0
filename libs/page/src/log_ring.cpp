#include "log_ring.hpp"

#include <algorithm>

namespace weir::page {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool contains(std::string_view text, std::string_view part) {
  return std::search(text.begin(), text.end(), part.begin(), part.end(),
                     [](char a, char b) { return lower(a) == lower(b); }) != text.end();
}

// Length of the UTF-8 sequence at the text's begin (RFC 3629); 0 when there is none.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return first < 0x20 || first == 0x7F ? 0 : 1;
  const std::size_t length = first >= 0xC2 && first <= 0xDF   ? 2
                             : first >= 0xE0 && first <= 0xEF ? 3
                             : first >= 0xF0 && first <= 0xF4 ? 4
                                                              : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return 0;
  }
  const unsigned second = byte(1);
  const bool bad = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
                   (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
  return bad ? 0 : length;
}

}  // namespace

std::string clean_text(std::string_view text, std::size_t bytes_max) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    if (out.size() + std::max<std::size_t>(length, 1) > bytes_max) break;
    if (length == 0) {
      out.push_back(text.front() == '\t' || text.front() == '\n' ? ' ' : '?');
    } else {
      out.append(text.substr(0, length));
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

const LogRing::Entry& LogRing::add(LogLine line) {
  constexpr std::size_t kNameBytesMax = 200;
  line.text = clean_text(line.text, line_bytes_max_);
  line.process = clean_text(line.process, kNameBytesMax);
  if (entries_.size() >= lines_max_) {
    entries_.pop_front();
    ++dropped_;
  }
  entries_.push_back({next_++, std::move(line)});
  return entries_.back();
}

std::deque<const LogRing::Entry*> LogRing::find(const Query& query) const {
  std::deque<const Entry*> found;
  for (auto entry = entries_.rbegin(); entry != entries_.rend() && found.size() < query.lines_max; ++entry) {
    const LogLine& line = entry->line;
    if (line.level < query.level) continue;
    if (!query.process.empty() && line.process != query.process) continue;
    if (!query.text.empty() && !contains(line.text, query.text) && !contains(line.process, query.text))
      continue;
    found.push_front(&*entry);
  }
  return found;
}

}  // namespace weir::page
