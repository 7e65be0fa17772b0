#pragma once

#include "yaml_tree.hpp"
#include <weir/config/problem.hpp>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace weir::config {

// Fills a Protocol Buffers message from a YAML tree by reflection: field names are keys, messages are
// sections. Fields that the tree does not give stay as they are; a list is replaced as a whole. Reports every
// problem and continues after it.
class MessageReader {
 public:
  // Returns the location of a line (from 1) for problems. Called for each key that was read.
  using Place = std::function<std::string(int line)>;
  using OnKey = std::function<void(const std::string& key, int line)>;

  MessageReader(Problems& problems, Place place, OnKey on_key)
      : problems_(problems), place_(std::move(place)), on_key_(std::move(on_key)) {}

  // `path` is the key of `message` as a whole, "" for the farm.
  void read_message(const YamlNode& node, google::protobuf::Message& message, const std::string& path);
  void read_field(const YamlNode& node, google::protobuf::Message& message,
                  const google::protobuf::FieldDescriptor& field, const std::string& path);
  void read_scalar(const YamlNode& node, google::protobuf::Message& message,
                   const google::protobuf::FieldDescriptor& field, const std::string& path);

 private:
  void read_list(const YamlNode& node, google::protobuf::Message& message,
                 const google::protobuf::FieldDescriptor& field, const std::string& path);
  void read_map(const YamlNode& node, google::protobuf::Message& message,
                const google::protobuf::FieldDescriptor& field, const std::string& path);
  void check_required(const YamlNode& node, const google::protobuf::Message& message,
                      const std::string& path);
  using FirstLines = std::map<std::string_view, int>;
  // Notes the key's line, and reports a repeated key.
  void report_repeated(const YamlNode& key, const std::string& path, FirstLines& first_lines);
  void report_unknown(const YamlNode& key, const google::protobuf::Descriptor& type, const std::string& path);
  void report(ProblemKind kind, int line, const std::string& key, std::string what);

  Problems& problems_;
  Place place_;
  OnKey on_key_;
};

}  // namespace weir::config
