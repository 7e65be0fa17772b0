#pragma once

#include "yaml_tree.hpp"
#include <weir/base/expected.hpp>
#include <weir/config/locations.hpp>
#include <weir/config/problem.hpp>

#include <google/protobuf/message.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace weir::config {

// The common part of farm file and lab file: one YAML document that fills one message.

// Reads the text of a file. `kind` is its name for people: "farm file".
[[nodiscard]] Expected<std::string, Problems> read_text(const std::filesystem::path& path,
                                                        const std::string& kind);

// Parses the text's keys; `name` is the file's name in problems.
[[nodiscard]] Expected<YamlNode, Problems> read_tree(std::string_view text, const std::string& name);

// Fills `message` with a file's keys, and notes the location of each in `locations`. Fields that the file
// does not give stay as they are.
[[nodiscard]] Problems read_keys(const YamlNode& tree, const std::string& name,
                                 google::protobuf::Message& message, Locations& locations);

// Sets one key of `message`. `assignment` is like "dcm.credits=8"; `prefix` is the part that users write
// before it, "" or "lab". On a problem the message stays unchanged.
[[nodiscard]] Problems override_key(google::protobuf::Message& message, const std::string& prefix,
                                    std::string_view assignment, Locations* locations);

// Returns every key written out, defaults too.
[[nodiscard]] std::string message_to_yaml(const google::protobuf::Message& message);

}  // namespace weir::config
