#include <weir/base/assert.hpp>
#include <weir/control/disk_memory.hpp>
#include <weir/node/mounts.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace weir::node {
namespace {

using Fields = std::vector<std::string>;

bool is_octal(char digit) { return digit >= '0' && digit <= '7'; }

// "\040" is a space: the kernel's way to write one, and that of /etc/fstab.
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && is_octal(text[i + 1]) && is_octal(text[i + 2]) &&
        is_octal(text[i + 3])) {
      out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

Fields fields_of(std::string_view line) {
  Fields fields;
  constexpr std::string_view kBlanks = " \t";
  while (true) {
    const std::size_t begin = line.find_first_not_of(kBlanks);
    if (begin == line.npos) return fields;
    line.remove_prefix(begin);
    const std::size_t end = std::min(line.find_first_of(kBlanks), line.size());
    fields.push_back(unescaped(line.substr(0, end)));
    line.remove_prefix(end);
  }
}

template <typename Take>
void each_line(std::string_view text, const Take& take) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    take(fields_of(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

struct Entry {
  std::string id;
  std::string parent;
  std::string point;
  std::string type;
  std::string source;
};

// Returns the entries with mount points on the path.
std::vector<Entry> entries_of(std::string_view mountinfo, std::string_view path) {
  std::vector<Entry> entries;
  each_line(mountinfo, [&](const Fields& fields) {
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    constexpr std::size_t kPoint = 4;
    if (fields.size() <= kPoint || fields.end() - dash < 3 || !control::is_within(path, fields[kPoint]))
      return;
    entries.push_back({fields[0], fields[1], fields[kPoint], dash[1], dash[2]});
  });
  return entries;
}

}  // namespace

// Follows the path through the mounts, because a mount hides those that were made below it before.
std::optional<Mount> mount_of(std::string_view mountinfo, std::string_view path) {
  const std::vector<Entry> entries = entries_of(mountinfo, path);
  const auto has_parent = [&](const Entry& one) {
    return one.parent != one.id && std::any_of(entries.begin(), entries.end(),
                                               [&](const Entry& other) { return other.id == one.parent; });
  };
  const Entry* at = nullptr;
  for (std::size_t steps = 0; steps <= entries.size(); ++steps) {
    const Entry* next = nullptr;
    for (const Entry& one : entries) {
      const bool is_child = at == nullptr ? !has_parent(one) : one.parent == at->id && one.id != at->id;
      if (is_child && (next == nullptr || one.point.size() <= next->point.size())) next = &one;
    }
    if (next == nullptr) break;
    at = next;
  }
  if (at == nullptr || at->type == "autofs") return std::nullopt;
  WEIR_ASSERT(control::is_within(path, at->point));
  return Mount{at->point, at->source + " (" + at->type + ")"};
}

std::string unmounted_point(std::string_view fstab, std::string_view path, std::string_view mounted) {
  std::string deepest;
  each_line(fstab, [&](const Fields& fields) {
    if (fields.size() < 3 || fields[0].starts_with('#') || !fields[1].starts_with('/')) return;
    std::string point = fields[1];
    while (point.size() > 1 && point.ends_with('/')) point.pop_back();
    const std::size_t least = std::max(mounted.size(), deepest.size());
    if (fields[2] != "swap" && point.size() > least && control::is_within(path, point)) deepest = point;
  });
  WEIR_ASSERT(deepest.empty() || deepest.size() > mounted.size());
  return deepest;
}

}  // namespace weir::node
