#include "log_ring.hpp"

#include <weir/base/assert.hpp>
#include <weir/base/text.hpp>

#include <algorithm>

namespace weir::page {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool contains(std::string_view text, std::string_view part) {
  return std::search(text.begin(), text.end(), part.begin(), part.end(),
                     [](char a, char b) { return lower(a) == lower(b); }) != text.end();
}

}  // namespace

const LogRing::Entry& LogRing::add(LogLine line) {
  constexpr std::size_t kNameBytesMax = 200;
  line.text = clean_text(line.text, line_bytes_max_);
  line.process = clean_text(line.process, kNameBytesMax);
  if (entries_.size() >= lines_max_) {
    WEIR_ASSERT(!entries_.empty() && entries_.front().number + entries_.size() == next_);
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
