#include <weir/ingest/folder_index.hpp>
#include <weir/source/hit.hpp>

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>

namespace weir::ingest {
namespace {

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

YAML::Node child(const YAML::Node& parent, const std::string& field, const char* key) {
  if (!parent.IsMap()) bad(field.empty() ? "the document" : field, "must be an object");
  const YAML::Node node = parent[key];
  if (!node) bad(field.empty() ? key : field + "." + key, "is not there");
  return node;
}

std::uint64_t number(const YAML::Node& parent, const std::string& field, const char* key, std::uint64_t max) {
  const YAML::Node node = child(parent, field, key);
  const std::string path = field.empty() ? key : field + "." + key;
  if (!node.IsScalar()) bad(path, "must be a whole number");
  const std::string& text = node.Scalar();
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > max) {
    bad(path, "must be a whole number from 0 to " + std::to_string(max));
  }
  return value;
}

std::string file_name(const YAML::Node& slice, const std::string& field) {
  const YAML::Node node = child(slice, field, "file");
  if (!node.IsScalar()) bad(field + ".file", "must be a file name");
  const std::string& text = node.Scalar();
  const bool plain = !text.empty() && text.size() <= kFileNameMax && text != "." && text != ".." &&
                     text.find('/') == std::string::npos && text.find('\0') == std::string::npos;
  if (!plain) bad(field + ".file", "must name a file in the same folder");
  return text;
}

std::string at(const std::string& field, std::size_t index) {
  return field + "[" + std::to_string(index) + "]";
}

YAML::Node list(const YAML::Node& parent, const std::string& field, const char* key, std::size_t max) {
  const YAML::Node node = child(parent, field, key);
  const std::string path = field.empty() ? key : field + "." + key;
  if (!node.IsSequence()) bad(path, "must be a list");
  if (node.size() > max) {
    bad(path, "has " + std::to_string(node.size()) + " entries, more than the limit allows",
        IngestError::too_large);
  }
  return node;
}

FolderIndex::Slice parse_slice(const YAML::Node& node, const std::string& field, std::size_t fragments_left) {
  constexpr std::uint64_t kSecondsMax = 4'000'000'000;
  FolderIndex::Slice slice;
  slice.slice = SliceId(number(node, field, "slice", UINT64_MAX));
  slice.time = static_cast<UtcNs>(number(node, field, "utc_s", kSecondsMax)) * kSecond +
               static_cast<UtcNs>(number(node, field, "utc_ns", kSecond - 1));
  slice.file = file_name(node, field);
  slice.bytes = number(node, field, "bytes", UINT64_MAX / 2);
  const YAML::Node fragments = list(node, field, "fragments", fragments_left);
  slice.fragments.reserve(fragments.size());
  std::size_t index = 0;
  for (const YAML::Node& entry : fragments) {
    const std::string path = at(field + ".fragments", index++);
    FolderIndex::Fragment fragment;
    fragment.source = SourceId(static_cast<std::uint32_t>(number(entry, path, "source", UINT32_MAX)));
    fragment.offset = number(entry, path, "offset", UINT64_MAX / 2);
    const std::uint64_t hits = number(entry, path, "hits", UINT32_MAX);
    fragment.length = hits * source::kHitBytes;
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
    bad(field + ".fragments", "source " + std::to_string(twice->source.value) + " is there twice");
  }
  return slice;
}

FolderIndex parse_document(const YAML::Node& document, const ReplayLimits& limits) {
  const std::uint64_t hit_bytes = number(document, "", "hit_bytes", UINT32_MAX);
  if (hit_bytes != source::kHitBytes) {
    bad("hit_bytes", "is " + std::to_string(hit_bytes) + ", only hits of " +
                         std::to_string(source::kHitBytes) + " bytes are known");
  }
  const YAML::Node slices = list(document, "", "slices", limits.slices_max);
  if (slices.size() == 0) bad("slices", "is empty");
  FolderIndex index;
  std::size_t fragments = 0;
  for (const YAML::Node& slice : slices) {
    const std::string field = at("slices", index.slices.size());
    index.slices.push_back(parse_slice(slice, field, limits.fragments_max - fragments));
    fragments += index.slices.back().fragments.size();
  }
  std::sort(index.slices.begin(), index.slices.end(), [](auto& a, auto& b) { return a.slice < b.slice; });
  const auto twice = std::adjacent_find(index.slices.begin(), index.slices.end(),
                                        [](auto& a, auto& b) { return a.slice == b.slice; });
  if (twice != index.slices.end())
    bad("slices", "slice " + std::to_string(twice->slice.value) + " is there twice");
  return index;
}

}  // namespace

Expected<FolderIndex, Failure> parse_folder_index(const std::string& text, std::string_view path,
                                                  const ReplayLimits& limits) {
  const auto failed = [&](IngestError error, const std::string& what) {
    return Unexpected<Failure>({error, std::string(path) + ": " + what});
  };
  if (text.size() > limits.index_bytes_max) {
    return failed(IngestError::too_large, std::to_string(text.size()) + " bytes, the limit is " +
                                              std::to_string(limits.index_bytes_max));
  }
  try {
    return parse_document(YAML::Load(text), limits);
  } catch (const BadField& field) {
    return failed(field.error, field.what);
  } catch (const YAML::Exception& error) {
    return failed(IngestError::malformed, "line " + std::to_string(error.mark.line + 1) + ", column " +
                                              std::to_string(error.mark.column + 1) + ": " + error.msg);
  }
}

}  // namespace weir::ingest
