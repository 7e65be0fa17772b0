#include "memory.hpp"

#include <weir/config/farm_file.hpp>
#include <weir/run_record/records.hpp>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace weir::run_control {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kHead =
    "# What run control remembers of its farm, down to `# end`; it reads this when it is started again.\n";
constexpr std::string_view kEnd = "# end\n";

// Keeps protobuf from printing its own complaint.
class NoErrors final : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int, int, const std::string&) override {}
};

// A file of an earlier version has no end that can be missing.
bool is_whole(std::string_view text) { return !text.starts_with(kHead) || text.ends_with(kEnd); }

bool parse(const std::string& text, v1::ControlMemory& memory) {
  NoErrors errors;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  return is_whole(text) && parser.ParseFromString(text, &memory) && !memory.goal().empty();
}

// Equal for equal states, with maps too.
std::string bytes_of(const v1::ControlMemory& memory) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream out(&stream);
  out.SetSerializationDeterministic(true);
  (void)memory.SerializeToCodedStream(&out);
  return bytes;
}

}  // namespace

std::string write_memory(const std::string& path, const v1::ControlMemory& memory) {
  std::string text;
  google::protobuf::TextFormat::PrintToString(memory, &text);
  if (run_record::write_file(path, std::string(kHead) + text + std::string(kEnd))) return {};
  return "cannot write '" + path + "': " + std::strerror(errno);
}

Expected<v1::ControlMemory, std::string> read_memory(const std::string& path) {
  std::ifstream file(path);
  if (!file && errno == ENOENT) return v1::ControlMemory();
  std::ostringstream text;
  text << file.rdbuf();
  v1::ControlMemory memory;
  if (!file || !parse(text.str(), memory)) {
    return Unexpected<std::string>("'" + path +
                                   "' is not a valid state of run control: inspect it, and move it " +
                                   "away to start afresh");
  }
  return memory;
}

Memory::Memory(std::string path, Extent extent) : path_(std::move(path)), extent_(extent) {
  if (path_.empty()) return;
  auto memory = read_memory(path_);
  if (!memory) throw std::runtime_error("control.out: " + memory.error());
  if (memory->goal().empty()) return;
  before_ = std::move(*memory);
  kept_ = bytes_of(*before_);
}

std::string Memory::keep(const v1::ControlMemory& memory) {
  std::string bytes = bytes_of(memory);
  if (path_.empty() || bytes == kept_) return {};
  std::string failure = write_memory(path_, memory);
  if (failure.empty()) kept_ = std::move(bytes);
  const bool again = failure == failure_;
  failure_ = failure;
  return again ? std::string() : failure;
}

std::string Memory::farm_path() const { return fs::path(path_).replace_extension(".farm.yaml").string(); }

std::string Memory::keep_farm(const FarmSetup& setup) {
  const std::string& digest = setup.digest();
  if (path_.empty() || extent_ == Extent::state || kept_farm_ == digest) return {};
  const std::string head =
      "# The farm that run control has given its processes; it reads this when it is started again.\n";
  std::string failure;
  if (run_record::write_file(farm_path(), head + config::to_yaml(setup.configured()))) {
    kept_farm_ = digest;
  } else {
    failure = "cannot write '" + farm_path() + "': " + std::strerror(errno);
  }
  const bool again = failure == farm_failure_;
  farm_failure_ = failure;
  return again ? std::string() : failure;
}

std::string Memory::farm() const {
  if (path_.empty() || extent_ == Extent::state) return {};
  std::ifstream file(farm_path());
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

}  // namespace weir::run_control
