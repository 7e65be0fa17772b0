#include <weir/base/assert.hpp>
#include <weir/hits.hpp>
#include <weir/ingest/folder_index.hpp>

#include <boost/json/monotonic_resource.hpp>
#include <boost/json/parser.hpp>
#include <boost/json/value.hpp>

#include <algorithm>

namespace weir::ingest {
namespace {

namespace json = boost::json;

constexpr std::size_t kFileNameMax = 255;

// Thrown only within this file, because a faulty field may be nested deeply.
struct BadField {
  IngestError error;
  std::string what;
};

[[noreturn]] void bad(const std::string& field, const std::string& what,
                      IngestError error = IngestError::malformed) {
  throw BadField{error, field + ": " + what};
}

std::string path_of(const std::string& field, const char* key) {
  return field.empty() ? key : field + "." + key;
}

const json::value& child(const json::value& parent, const std::string& field, const char* key) {
  const json::object* object = parent.if_object();
  if (object == nullptr) bad(field.empty() ? "the document" : field, "must be an object");
  const json::value* value = object->if_contains(key);
  if (value == nullptr) bad(path_of(field, key), "is not there");
  return *value;
}

std::uint64_t number(const json::value& parent, const std::string& field, const char* key,
                     std::uint64_t max) {
  const json::value& value = child(parent, field, key);
  std::uint64_t number = max;
  bool whole = true;
  if (const std::int64_t* small = value.if_int64()) {
    whole = *small >= 0;
    number = static_cast<std::uint64_t>(*small);
  } else if (const std::uint64_t* large = value.if_uint64()) {
    number = *large;
  } else {
    whole = false;
  }
  if (!whole || number > max)
    bad(path_of(field, key), "must be a whole number from 0 to " + std::to_string(max));
  return number;
}

std::string file_name(const json::value& slice, const std::string& field) {
  const json::string* value = child(slice, field, "file").if_string();
  if (value == nullptr) bad(field + ".file", "must be a file name");
  std::string text(value->data(), value->size());
  const bool plain = !text.empty() && text.size() <= kFileNameMax && text != "." && text != ".." &&
                     text.find('/') == std::string::npos && text.find('\0') == std::string::npos;
  if (!plain) bad(field + ".file", "must name a file in the same folder");
  return text;
}

std::string at(const std::string& field, std::size_t index) {
  return field + "[" + std::to_string(index) + "]";
}

const json::array& list(const json::value& parent, const std::string& field, const char* key,
                        std::size_t max) {
  const json::array* entries = child(parent, field, key).if_array();
  if (entries == nullptr) bad(path_of(field, key), "must be a list");
  if (entries->size() > max) {
    bad(path_of(field, key),
        "has " + std::to_string(entries->size()) + " entries, more than the limit allows",
        IngestError::too_large);
  }
  return *entries;
}

FolderIndex::Slice parse_slice(const json::value& node, const std::string& field,
                               std::size_t fragments_left) {
  constexpr std::uint64_t kSecondsMax = 4'000'000'000;
  constexpr std::uint64_t kDurationMax = 3600 * kSecond;
  FolderIndex::Slice slice;
  slice.slice = SliceId(number(node, field, "slice", UINT64_MAX));
  slice.time = static_cast<UtcNs>(number(node, field, "utc_s", kSecondsMax)) * kSecond +
               static_cast<UtcNs>(number(node, field, "utc_ns", kSecond - 1));
  if (node.as_object().contains("duration_ns"))
    slice.duration = static_cast<DurationNs>(number(node, field, "duration_ns", kDurationMax));
  slice.file = file_name(node, field);
  slice.bytes = number(node, field, "bytes", UINT64_MAX / 2);
  const json::array& fragments = list(node, field, "fragments", fragments_left);
  slice.fragments.reserve(fragments.size());
  std::size_t index = 0;
  for (const json::value& entry : fragments) {
    const std::string path = at(field + ".fragments", index++);
    FolderIndex::Fragment fragment;
    fragment.source = SourceId(static_cast<std::uint32_t>(number(entry, path, "source", UINT32_MAX)));
    fragment.offset = number(entry, path, "offset", UINT64_MAX / 2);
    const std::uint64_t hits = number(entry, path, "hits", UINT32_MAX);
    fragment.length = hits * kHitBytes;
    if (fragment.offset > slice.bytes || fragment.length > slice.bytes - fragment.offset) {
      bad(path, std::to_string(hits) + " hits from byte " + std::to_string(fragment.offset) +
                    " on lead beyond the " + std::to_string(slice.bytes) + " bytes of " + slice.file);
    }
    slice.fragments.push_back(fragment);
  }
  const auto less = [](const auto& a, const auto& b) { return a.source < b.source; };
  const auto same = [](const auto& a, const auto& b) { return a.source == b.source; };
  std::sort(slice.fragments.begin(), slice.fragments.end(), less);
  const auto twice = std::adjacent_find(slice.fragments.begin(), slice.fragments.end(), same);
  if (twice != slice.fragments.end()) {
    bad(field + ".fragments", "source " + std::to_string(twice->source.value) + " occurs twice");
  }
  return slice;
}

// Returns the length of consecutive time slices of which these are some: the distance of any two slices'
// times is that of their ids times the length. 0 if there is none. Requires: ascending in id, each once.
DurationNs common_length(const std::vector<FolderIndex::Slice>& slices) {
  constexpr auto kLengthMax = static_cast<std::uint64_t>(3600 * kSecond);
  DurationNs length = 0;
  for (std::size_t i = 1; i < slices.size(); ++i) {
    WEIR_ASSERT(slices[i - 1].slice < slices[i].slice);
    const std::uint64_t ids = slices[i].slice.value - slices[i - 1].slice.value;
    if (slices[i].time <= slices[i - 1].time) return 0;
    const auto time = static_cast<std::uint64_t>(slices[i].time - slices[i - 1].time);
    if (time % ids != 0 || time / ids > kLengthMax) return 0;
    const auto each = static_cast<DurationNs>(time / ids);
    if (i > 1 && each != length) return 0;
    length = each;
  }
  return length;
}

FolderIndex parse_document(const json::value& document, const ReplayLimits& limits) {
  const std::uint64_t hit_bytes = number(document, "", "hit_bytes", UINT32_MAX);
  if (hit_bytes != kHitBytes) {
    bad("hit_bytes", "is " + std::to_string(hit_bytes) + ", only hits of " + std::to_string(kHitBytes) +
                         " bytes are known");
  }
  const std::string top;  // the path of the document
  const json::array& slices = list(document, top, "slices", limits.slices_max);
  if (slices.size() == 0) bad("slices", "is empty");
  FolderIndex index;
  std::size_t fragments = 0;
  for (const json::value& slice : slices) {
    const std::string field = at("slices", index.slices.size());
    index.slices.push_back(parse_slice(slice, field, limits.fragments_max - fragments));
    fragments += index.slices.back().fragments.size();
    WEIR_ASSERT(fragments <= limits.fragments_max);
  }
  std::sort(index.slices.begin(), index.slices.end(), [](auto& a, auto& b) { return a.slice < b.slice; });
  const auto twice = std::adjacent_find(index.slices.begin(), index.slices.end(),
                                        [](auto& a, auto& b) { return a.slice == b.slice; });
  if (twice != index.slices.end())
    bad("slices", "slice " + std::to_string(twice->slice.value) + " occurs twice");
  const DurationNs length = common_length(index.slices);
  for (FolderIndex::Slice& slice : index.slices)
    if (slice.duration == 0) slice.duration = length;
  return index;
}

std::string place_in(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const std::size_t line = 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
  const std::size_t column = 1 + offset - (before.rfind('\n') + 1);
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

}  // namespace

Expected<FolderIndex, IngestFailure> parse_folder_index(const std::string& text, std::string_view path,
                                                        const ReplayLimits& limits) {
  const auto failed = [&](IngestError error, const std::string& what) {
    return Unexpected<IngestFailure>({error, std::string(path) + ": " + what});
  };
  if (text.size() > limits.index_bytes_max) {
    return failed(IngestError::too_large, std::to_string(text.size()) + " bytes, the limit is " +
                                              std::to_string(limits.index_bytes_max));
  }
  // Freed as a whole: an index has a node for each fragment.
  json::monotonic_resource memory;
  json::parser parser(&memory);
  json::error_code error;
  const std::size_t read = parser.write(text, error);
  if (error) return failed(IngestError::malformed, place_in(text, read) + ": " + error.message());
  try {
    const json::value document = parser.release();
    return parse_document(document, limits);
  } catch (const BadField& field) {
    return failed(field.error, field.what);
  }
}

}  // namespace weir::ingest
