#include <weir/base/assert.hpp>
#include <weir/base/crc32c.hpp>
#include <weir/base/plugin_file.hpp>
#include <weir/plugin_loader/plugin_copy.hpp>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>
#include <span>
#include <string_view>

namespace weir::plugin_loader {
namespace {

namespace fs = std::filesystem;

Expected<std::string, std::string> content_of(const fs::path& path) {
  std::error_code error;
  std::ifstream file;
  if (fs::is_regular_file(path, error)) file.open(path, std::ios::binary);
  const std::uintmax_t size = file.is_open() ? fs::file_size(path, error) : 0;
  if (!file.is_open() || error) return Unexpected<std::string>("cannot be read");
  std::string content(size, '\0');  // read at once: plugins have megabytes
  file.read(content.data(), static_cast<std::streamsize>(content.size()));
  content.resize(static_cast<std::size_t>(file.gcount()));
  return content;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Adds the words of a line that imports something.
void add_words(std::string_view line, std::set<std::string>& words) {
  if (line.find("import") == line.npos) return;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const std::size_t begin = at;
    while (at < line.size() && is_word(line[at])) ++at;
    if (at > begin) words.emplace(line.substr(begin, at - begin));
  }
}

std::set<std::string> imported_words(std::string_view source) {
  std::set<std::string> words;
  while (!source.empty()) {
    std::size_t end = source.find('\n');
    while (end != source.npos && end > 0 && source[end - 1] == '\\') end = source.find('\n', end + 1);
    add_words(source.substr(0, end), words);
    source.remove_prefix(std::min(source.size(), end == source.npos ? end : end + 1));
  }
  return words;
}

bool is_module(const fs::path& path) { return path.extension() == ".py" || path.extension() == ".so"; }

// Collects the modules beside a plugin in Python.
class Modules {
 public:
  explicit Modules(fs::path folder) : folder_(std::move(folder)) {
    std::error_code error;
    for (fs::directory_iterator entry(folder_, error); !error && entry != fs::directory_iterator();
         entry.increment(error)) {
      const std::string name = entry->path().filename().string();
      if (entry->is_directory(error) || is_module(entry->path()))
        beside_.emplace_back(name.substr(0, name.find('.')), entry->path());
    }
  }

  // Adds the files that a file with this content imports. An error is a sentence.
  [[nodiscard]] std::string follow(const std::string& content) {
    const std::set<std::string> words = imported_words(content);
    for (const auto& [name, path] : beside_) {
      if (!words.contains(name)) continue;
      std::string why = fs::is_directory(path) ? add_package(path) : add(path);
      if (!why.empty()) return why;
    }
    return {};
  }
  // In the order of their paths.
  [[nodiscard]] std::vector<PluginFile> take() {
    std::ranges::sort(files_, {}, &PluginFile::path);
    return std::move(files_);
  }
  void leave_out(const fs::path& path) { known_.insert(path); }

 private:
  std::string add(const fs::path& path) {
    if (!known_.insert(path).second) return {};
    auto content = content_of(path);
    if (!content) return "its module " + path.string() + " " + content.error();
    bytes_ += content->size();
    if (files_.size() >= kCopyFilesMax || bytes_ > kPythonCopyBytesMax) {
      return "it imports more than " + std::to_string(kCopyFilesMax) + " files or " +
             std::to_string(kPythonCopyBytesMax >> 20U) + " MiB from beside it (" + path.string() +
             " is the first too many): install its modules as a package";
    }
    files_.push_back({path.string(), std::move(*content)});
    return path.extension() == ".py" ? follow(std::string(files_.back().content)) : std::string();
  }
  std::string add_package(const fs::path& folder) {
    std::error_code error;
    std::vector<fs::path> inside;
    for (fs::recursive_directory_iterator entry(folder, error);
         !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
      if (is_module(entry->path()) && entry->is_regular_file(error)) inside.push_back(entry->path());
    }
    for (const fs::path& path : inside) {
      if (std::string why = add(path); !why.empty()) return why;
    }
    return {};
  }

  fs::path folder_;
  std::vector<std::pair<std::string, fs::path>> beside_;
  std::set<fs::path> known_;
  std::vector<PluginFile> files_;
  std::size_t bytes_ = 0;
};

ConstBytes bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace

Expected<PluginCopy, std::string> copy_plugin(const std::string& path) {
  auto content = content_of(path);
  if (!content) return Unexpected<std::string>(content.error());
  PluginCopy copy;
  copy.crc32c = crc32c(bytes_of(*content));
  copy.files.push_back({path, std::move(*content)});
  if (!is_python_plugin(path)) return copy;
  Modules modules(fs::path(path).parent_path());
  modules.leave_out(path);
  if (std::string why = modules.follow(copy.files.front().content); !why.empty())
    return Unexpected<std::string>(std::move(why));
  for (PluginFile& file : modules.take()) {
    copy.crc32c = crc32c_extend(copy.crc32c, bytes_of(fs::path(file.path).filename().string()));
    copy.crc32c = crc32c_extend(copy.crc32c, bytes_of(file.content));
    WEIR_ASSERT(file.path != path);  // the plugin itself comes first
    copy.files.push_back(std::move(file));
  }
  return copy;
}

Expected<std::string, std::string> find_python_plugin(const std::string& noun,
                                                      const std::string& name_or_path,
                                                      const std::vector<std::string>& search_path) {
  std::error_code none;
  if (fs::is_regular_file(name_or_path, none)) return fs::absolute(name_or_path, none).string();
  const std::string begin = noun + " '" + name_or_path + "': no such file";
  const fs::path place = fs::absolute(name_or_path, none).lexically_normal();
  if (name_or_path.find('/') != name_or_path.npos) {
    return Unexpected<std::string>(
        begin + (fs::path(name_or_path).is_absolute()
                     ? ""
                     : ": " + place.string() +
                           " (a relative path begins in the working folder, not beside the farm file)"));
  }
  std::string folders = place.parent_path().string();
  for (const std::string& folder : search_path) {
    const fs::path path = fs::path(folder) / name_or_path;
    if (fs::is_regular_file(path, none)) return fs::absolute(path, none).string();
    folders += ", " + fs::absolute(folder, none).string();
  }
  return Unexpected<std::string>(begin + " in " + folders +
                                 ": give the path of the Python file, or add its folder to " + noun +
                                 ".search_path");
}

}  // namespace weir::plugin_loader
