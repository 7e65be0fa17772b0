#include "checks.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>

namespace weir::arch {
namespace {

// Split so that the check does not find itself.
constexpr std::array<std::string_view, 3> kLeftForLater = {
    "TO"
    "DO",
    "FIX"
    "ME",
    "X"
    "XX"};

constexpr std::array<std::string_view, 4> kSleeps = {"sleep_for", "sleep_until", "usleep", "nanosleep"};

// Matched against the beginning of the name in the brackets.
constexpr std::array<std::string_view, 16> kImpureIncludes = {
    "boost/asio",   "boost/beast", "zmq",   "spdlog",       "google/protobuf",    "prometheus/",
    "yaml-cpp/",    "thread",      "mutex", "shared_mutex", "condition_variable", "future",
    "sys/socket.h", "netinet/",    "arpa/", "pthread.h"};

constexpr std::array<std::string_view, 12> kImpureNames = {"sleep_for",
                                                           "sleep_until",
                                                           "usleep",
                                                           "nanosleep",
                                                           "system_clock",
                                                           "steady_clock",
                                                           "high_resolution_clock",
                                                           "clock_gettime",
                                                           "gettimeofday",
                                                           "random_device",
                                                           "getenv",
                                                           "this_thread"};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// True if `word` is in the line as a whole word.
bool has_word(std::string_view line, std::string_view word) {
  for (auto at = line.find(word); at != std::string_view::npos; at = line.find(word, at + 1)) {
    const auto end = at + word.size();
    if ((at == 0 || !is_word(line[at - 1])) && (end == line.size() || !is_word(line[end]))) return true;
  }
  return false;
}

// Returns the name of a type that a line at namespace scope defines; empty if it defines none.
std::string defined_type(std::string_view line) {
  for (const std::string_view key : {"enum class ", "enum ", "class ", "struct ", "union "}) {
    if (!line.starts_with(key)) continue;
    const std::string_view rest = line.substr(key.size());
    const auto end = std::find_if_not(rest.begin(), rest.end(), is_word);
    const std::size_t brace = line.find('{');
    if (brace == line.npos || line.find(';') < brace) return {};
    return std::string(rest.begin(), end);
  }
  return {};
}

bool is_under(std::string_view path, std::string_view folder) {
  return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

bool has_suffix(std::string_view path, std::initializer_list<std::string_view> suffixes) {
  return std::any_of(suffixes.begin(), suffixes.end(), [&](auto suffix) { return path.ends_with(suffix); });
}

bool is_header(std::string_view path) { return has_suffix(path, {".hpp", ".h"}); }
bool is_cpp(std::string_view path) { return has_suffix(path, {".cpp", ".hpp", ".h", ".c"}); }
bool is_test(std::string_view path) {
  return path.starts_with("tests/") || path.find("/tests/") != std::string_view::npos;
}

bool is_product(std::string_view path) {
  return is_under(path, "libs") || is_under(path, "apps") || is_under(path, "tools") ||
         is_under(path, "plugins");
}

std::string breach(std::string_view path, std::size_t line, const std::string& what) {
  return std::string(path) + ":" + std::to_string(line) + ": " + what;
}

// Returns the folder of a library, which is in a wing, or of a program.
std::string room_of(const std::string& path) {
  std::size_t end = path.find('/');
  for (int depth = is_under(path, "libs") ? 2 : 1; depth > 0 && end != path.npos; --depth)
    end = path.find('/', end + 1);
  return path.substr(0, end);
}

struct Include {
  std::size_t line;
  std::string target;  // without brackets or quotes
  bool quoted;
};

std::vector<Include> includes_of(std::string_view code) {
  std::vector<Include> includes;
  const std::string text = without_comments(code, false);
  std::size_t number = 0;
  for (auto line : lines_of(text)) {
    ++number;
    const auto hash = line.find_first_not_of(" \t");
    if (hash == std::string_view::npos || line[hash] != '#') continue;
    const auto word = line.find_first_not_of(" \t", hash + 1);
    if (word == std::string_view::npos || line.substr(word, 7) != "include") continue;
    const auto open = line.find_first_of("<\"", word);
    if (open == std::string_view::npos) continue;
    const auto close = line.find(line[open] == '<' ? '>' : '"', open + 1);
    if (close == std::string_view::npos) continue;
    includes.push_back({.line = number,
                        .target = std::string(line.substr(open + 1, close - open - 1)),
                        .quoted = line[open] == '"'});
  }
  return includes;
}

const Library* find_library(const Layers& layers, std::string_view name) {
  const auto found = std::find_if(layers.libraries.begin(), layers.libraries.end(),
                                  [&](const Library& library) { return library.name == name; });
  return found == layers.libraries.end() ? nullptr : &*found;
}

const Library* owner_of_header(const Layers& layers, const std::string& header) {
  for (const auto& library : layers.libraries) {
    if (std::find(library.headers.begin(), library.headers.end(), header) != library.headers.end()) {
      return &library;
    }
  }
  return nullptr;
}

void add_reachable(const Layers& layers, const Library& library, std::set<std::string>& names) {
  if (!names.insert(library.name).second) return;
  for (const auto& name : library.depends) {
    if (const Library* below = find_library(layers, name)) add_reachable(layers, *below, names);
  }
}

void check_words(std::string_view path, const std::string& text, const auto& words, const std::string& what,
                 Breaches& breaches) {
  std::size_t number = 0;
  for (auto line : lines_of(text)) {
    ++number;
    for (auto word : words) {
      if (has_word(line, word)) breaches.push_back(breach(path, number, std::string(word) + ": " + what));
    }
  }
}

// Several libraries can share a folder: an executable's folder holds its node library and its main.
void check_includes_of_file(const std::string& path, const std::string& code, const Layers& layers,
                            const std::set<std::string>& reachable, const std::string& who,
                            Breaches& breaches) {
  for (const auto& include : includes_of(code)) {
    if (include.target.find("..") != std::string::npos) {
      breaches.push_back(breach(path, include.line, "includes by a path through other folders"));
      continue;
    }
    if (include.quoted || !include.target.starts_with("weir/")) continue;
    const Library* owner = owner_of_header(layers, include.target);
    if (owner == nullptr) {
      breaches.push_back(breach(path, include.line, "<" + include.target + "> is no library's header"));
    } else if (!reachable.contains(owner->name)) {
      breaches.push_back(breach(
          path, include.line,
          "<" + include.target + "> belongs to '" + owner->name + "', which " + who + " does not depend on"));
    }
  }
}

// Returns the library of the namespace that a line opens, for "weir::wire::detail" "wire"; empty if none.
std::string opened_library(std::string_view line) {
  constexpr std::string_view kOpens = "namespace weir::";
  if (!line.starts_with(kOpens) || line.find('{') == line.npos) return {};
  const std::string_view rest = line.substr(kOpens.size());
  const std::string name(rest.begin(), std::find_if_not(rest.begin(), rest.end(), is_word));
  return name == "v1" ? "proto" : name;
}

bool declares_type(std::string_view line) {
  const std::size_t end = line.find_last_not_of(" \t\r");
  return (line.starts_with("struct ") || line.starts_with("class ") || line.starts_with("enum ")) &&
         end != line.npos && line[end] == ';' && line.find('{') == line.npos;
}

void check_declared_types_of_file(const std::string& path, const std::string& text, const Layers& layers,
                                  const std::set<std::string>& reachable, const std::string& who,
                                  Breaches& breaches) {
  const std::string code = without_comments(text, true);
  std::string library;
  std::size_t number = 0;
  for (const std::string_view line : lines_of(code)) {
    ++number;
    if (line.starts_with("namespace ")) library = opened_library(line);
    if (library.empty() || !declares_type(line) || find_library(layers, library) == nullptr) continue;
    if (!reachable.contains(library))
      breaches.push_back(breach(path, number,
                                "declares a type of '" + library + "', which " + who +
                                    " does not depend on: move the type to a library that both may use"));
  }
}

// By folder: the libraries that may be used there, and the names of those that live there, for sentences.
using Reachable = std::map<std::string, std::pair<std::set<std::string>, std::string>>;
Reachable reachable_by_folder(const Layers& layers) {
  Reachable by_folder;
  for (const auto& library : layers.libraries) {
    auto& [names, who] = by_folder[library.dir];
    std::set<std::string> reachable;
    add_reachable(layers, library, reachable);
    names.merge(reachable);
    who += (who.empty() ? "'" : " or '") + library.name + "'";
  }
  return by_folder;
}

bool allowed_pair(const Layers& layers, const Library& from, const Library& to) {
  return std::find(layers.sideways.begin(), layers.sideways.end(), from.name + ">" + to.name) !=
         layers.sideways.end();
}

}  // namespace

Breaches check_declared_layers(const SourceTree& tree, const Layers& layers) {
  Breaches breaches;
  for (const auto& library : layers.libraries) {
    for (const auto& name : library.depends) {
      const Library* below = find_library(layers, name);
      if (below == nullptr) {
        breaches.push_back(library.dir + ": depends on '" + name + "', which is not declared");
      } else if (below->layer > library.layer ||
                 (below->layer == library.layer && !allowed_pair(layers, library, *below))) {
        breaches.push_back(library.dir + ": layer " + std::to_string(library.layer) + " depends on '" + name +
                           "' of layer " + std::to_string(below->layer));
      }
    }
  }
  std::set<std::string> declared;
  for (const auto& library : layers.libraries) declared.insert(library.dir);
  std::set<std::string> folders;
  for (const auto& [path, text] : tree) {
    const std::filesystem::path parts(path);
    if (is_under(path, "libs") && std::distance(parts.begin(), parts.end()) > 3) {
      folders.insert(room_of(path));
    }
  }
  for (const auto& folder : folders) {
    if (!declared.contains(folder)) {
      breaches.push_back(folder + ": holds files, but libs/CMakeLists.txt does not build it");
    }
  }
  return breaches;
}

Breaches check_includes(const SourceTree& tree, const Layers& layers) {
  Breaches breaches;
  const Reachable by_folder = reachable_by_folder(layers);
  for (const auto& [path, text] : tree) {
    if (!is_product(path) || !is_cpp(path) || is_test(path)) continue;
    for (const auto& [dir, reachable] : by_folder) {
      if (!is_under(path, dir)) continue;
      check_includes_of_file(path, text, layers, reachable.first, reachable.second, breaches);
      check_declared_types_of_file(path, text, layers, reachable.first, reachable.second, breaches);
    }
  }
  return breaches;
}

Breaches check_pure_libraries(const SourceTree& tree, const Layers& layers) {
  Breaches breaches;
  for (const auto& library : layers.libraries) {
    if (library.layer > layers.pure_layer_max) continue;
    const std::string what = "'" + library.name + "' is a pure library (layer " +
                             std::to_string(library.layer) +
                             "): let it come in as a parameter, or through libs/network/ports";
    for (const auto& [path, text] : tree) {
      if (!is_under(path, library.dir) || !is_cpp(path)) continue;
      for (const auto& include : includes_of(text)) {
        for (auto banned : kImpureIncludes) {
          const bool whole =
              banned.find_first_of("/.") == std::string_view::npos && !banned.starts_with("zmq");
          const bool hit =
              include.target.starts_with(banned) &&
              (!whole || include.target.size() == banned.size() || include.target[banned.size()] == '/');
          if (hit) breaches.push_back(breach(path, include.line, "<" + include.target + ">: " + what));
        }
      }
      check_words(path, without_comments(text, true), kImpureNames, what, breaches);
    }
  }
  return breaches;
}

Breaches check_no_sleep(const SourceTree& tree) {
  Breaches breaches;
  for (const auto& [path, text] : tree) {
    if (!is_product(path) || !is_cpp(path) || is_test(path)) continue;
    check_words(path, without_comments(text, true), kSleeps,
                "sleeping to synchronise: wait for the event, or use a timer", breaches);
  }
  return breaches;
}

Breaches check_no_orphans(const SourceTree& tree) {
  Breaches breaches;
  for (const auto& [path, text] : tree) {
    if (!(is_product(path) || is_under(path, "tests")) || !path.ends_with(".cpp")) continue;
    bool named = false;
    const std::filesystem::path file(path);
    for (auto folder = file.parent_path(); !named && !folder.empty(); folder = folder.parent_path()) {
      const auto list = tree.find((folder / "CMakeLists.txt").generic_string());
      if (list == tree.end()) continue;
      const std::string relative = file.lexically_relative(folder).generic_string();
      for (auto line : lines_of(list->second)) {
        if (const auto comment = line.find('#'); comment != std::string_view::npos)
          line = line.substr(0, comment);
        named = named || has_word(line, relative);
      }
    }
    // The sources that all fuzz targets share are named in the file that declares fuzz targets.
    const auto library = tree.find("cmake/WeirLibrary.cmake");
    named = named || (library != tree.end() && has_word(library->second, path));
    if (!named) breaches.push_back(path + ": no CMakeLists.txt names it, so it is never built");
  }
  return breaches;
}

Breaches check_readmes(const SourceTree& tree, const Layers& layers) {
  constexpr std::string_view kTable = "\n| header |";
  Breaches breaches;
  for (const auto& library : layers.libraries) {
    if (!is_under(library.dir, "libs")) continue;
    const auto readme = tree.find(library.dir + "/README.md");
    if (readme == tree.end()) {
      breaches.push_back(library.dir + ": has no README.md");
      continue;
    }
    if (readme->second.find(kTable) == std::string::npos) continue;
    for (const auto& [path, text] : tree) {
      const std::string name = path.substr(path.rfind('/') + 1);
      if (is_under(path, library.dir + "/include") && readme->second.find(name) == std::string::npos)
        breaches.push_back(readme->first + ": its table of headers lacks " + name);
    }
  }
  return breaches;
}

Breaches check_header_users(const SourceTree& tree) {
  constexpr std::string_view kFolder = "/include/";
  std::set<std::string> included;
  for (const auto& [path, text] : tree) {
    if (!is_cpp(path) || is_test(path)) continue;
    for (const Include& include : includes_of(text)) included.insert(include.target);
  }
  Breaches breaches;
  for (const auto& [path, text] : tree) {
    const auto folder = path.find(kFolder);
    if (!is_product(path) || !is_header(path) || folder == path.npos) continue;
    if (!included.contains(path.substr(folder + kFolder.size())))
      breaches.push_back(path + ": is included by tests only: move it to tests/support");
  }
  return breaches;
}

Breaches check_type_names(const SourceTree& tree) {
  std::map<std::string, std::map<std::string, std::string>> types;  // name -> folder -> header
  for (const auto& [path, text] : tree) {
    // The file reader's types are those of programs outside.
    const bool is_outside = path.ends_with("/include/weir/file_reader.hpp");
    if (!is_product(path) || !is_header(path) || is_test(path) || is_outside) continue;
    const std::string folder = room_of(path);
    const std::string code = without_comments(text, true);
    for (const std::string_view line : lines_of(code)) {
      if (const std::string name = defined_type(line); !name.empty()) types[name].emplace(folder, path);
    }
  }
  Breaches breaches;
  for (const auto& [name, headers] : types) {
    if (headers.size() > 1)
      breaches.push_back(headers.rbegin()->second + ": defines '" + name + "', and so does " +
                         headers.begin()->second + ": give one of them a better name");
  }
  return breaches;
}

Breaches check_nothing_left(const SourceTree& tree) {
  Breaches breaches;
  for (const auto& [path, text] : tree) {
    if (path.find("/golden/") != std::string::npos || path.find("/corpus/") != std::string::npos) continue;
    check_words(path, text, kLeftForLater, "do it now, or describe the limit in the README", breaches);
  }
  return breaches;
}

Breaches check_cited_pages(const SourceTree& tree, const std::vector<std::string>& pages) {
  constexpr std::string_view kSuffix = ".md";
  constexpr std::string_view kInPaths = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-";
  Breaches breaches;
  for (const auto& [path, text] : tree) {
    if (path.starts_with("tests/arch/")) continue;
    for (std::size_t at = text.find(kSuffix); at != text.npos; at = text.find(kSuffix, at + 1)) {
      const std::size_t end = at + kSuffix.size();
      if (end < text.size() && kInPaths.find(text[end]) < kInPaths.find('_')) continue;  // ".mdb"
      const std::size_t before = text.find_last_not_of(kInPaths, at);
      std::size_t begin = before == text.npos ? 0 : before + 1;
      if (begin > 0 && text[begin - 1] == '\\') ++begin;  // the n of "\n" in a literal
      std::string cited = text.substr(begin, end - begin);
      if (const std::size_t up = cited.rfind("../"); up != cited.npos) cited.erase(0, up + 3);
      if (cited.starts_with("./")) cited.erase(0, 2);
      const bool is_url = before != text.npos && text[before] == ':';
      const bool is_suffix = cited == kSuffix || cited.front() == '/';  // put together at run time
      const bool is_page =
          cited.find('/') != cited.npos ||
          (cited != "NAME.md" && std::isupper(static_cast<unsigned char>(cited.front())) != 0);
      if (is_url || is_suffix || !is_page) continue;
      const bool exists = std::ranges::any_of(pages, [&](const std::string& page) {
        return page == cited || page.ends_with("/" + cited) || cited.ends_with("doc/weir/" + page);
      });
      const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
      if (!exists)
        breaches.push_back(path + ":" + std::to_string(line) + ": cites " + cited + ", which does not exist");
    }
  }
  return breaches;
}

Breaches check_skips(const SourceTree& tree) {
  Breaches breaches;
  for (const auto& [path, text] : tree) {
    if (path.starts_with("tests/arch/") || path == "tests/support/skip.hpp") continue;
    const bool is_cmake = path.ends_with("CMakeLists.txt") || path.ends_with(".cmake");
    if (!is_cmake && (path.find("tests/") == std::string::npos || !path.ends_with("pp"))) continue;
    std::size_t number = 0;
    for (const std::string_view line : lines_of(text)) {
      ++number;
      std::string lower(line);
      std::transform(lower.begin(), lower.end(), lower.begin(),
                     [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
      const bool by_words = is_cmake ? lower.find("skip_regular_expression") != std::string::npos
                                     : lower.find("\"skipped:") != std::string::npos;
      if (by_words)
        breaches.push_back(path + ":" + std::to_string(number) +
                           ": a skip by its words: call weir::skip_test() (tests/support/skip.hpp)");
    }
  }
  return breaches;
}

Breaches check_matchers(const SourceTree& tree) {
  Breaches breaches;
  for (const auto& [path, text] : tree) {
    if (path.starts_with("tests/arch/") || path.find("tests/") == std::string::npos || !path.ends_with("pp"))
      continue;
    std::size_t number = 0;
    for (const std::string_view line : lines_of(text)) {
      ++number;
      for (const char* name : {"Contains(", "Equals(", "StartsWith(", "EndsWith("}) {
        if (line.find(std::string("Catch::") + name) != line.npos)
          breaches.push_back(path + ":" + std::to_string(number) + ": Catch::" + name +
                             "...) is not in Catch2 3: take Catch::ContainsSubstring");
      }
    }
  }
  return breaches;
}

Breaches check_standard_headers(const SourceTree& tree) {
  struct Needed {
    const char* header;
    std::vector<const char*> functions;
  };
  static const std::vector<Needed> kNeeded{
      {"utility", {"exchange"}},
      {"cstring", {"memcpy", "memcmp", "memset", "strlen"}},
      {"algorithm",
       {"sort", "find_if", "any_of", "all_of", "none_of", "max_element", "min_element", "fill", "equal",
        "transform", "count_if", "clamp", "lower_bound", "upper_bound", "stable_sort", "reverse"}}};
  Breaches breaches;
  for (const auto& [path, text] : tree) {
    if (path.starts_with("tests/arch/") || !path.ends_with("pp")) continue;
    const auto includes = includes_of(text);
    for (const auto& [header, functions] : kNeeded) {
      if (std::ranges::any_of(includes, [&](const Include& one) { return one.target == header; })) continue;
      std::size_t number = 0;
      for (const std::string_view line : lines_of(text)) {
        ++number;
        const auto used = std::ranges::find_if(functions, [&](const char* function) {
          return line.find(std::string("std::") + function + "(") != line.npos;
        });
        if (used == functions.end()) continue;
        breaches.push_back(breach(path, number, std::string("std::") + *used + " needs <" + header + ">"));
        break;
      }
    }
  }
  return breaches;
}

Breaches check_report_numbers(const SourceTree& tree) {
  Breaches breaches;
  for (const auto& [path, text] : tree) {
    const bool product = path.starts_with("libs/") || path.starts_with("apps/") || path.starts_with("tools/");
    // The exporter visits every field, whatever its name.
    const bool may =
        path.starts_with("libs/monitoring/reports/") || path.starts_with("libs/monitoring/telemetry/");
    if (!product || may || path.find("/tests/") != std::string::npos || !path.ends_with("pp")) continue;
    std::size_t number = 0;
    for (const std::string_view line : lines_of(text)) {
      ++number;
      for (const char* way : {"mutable_gauges(", "mutable_sums(", ".gauges()", ".sums()",
                              "mutable_counters())[", "counters().find(", "counters().at("}) {
        if (line.find(way) != line.npos)
          breaches.push_back(path + ":" + std::to_string(number) + ": " + way +
                             "...): write and read a report's numbers with weir/reports/numbers.hpp");
      }
    }
  }
  return breaches;
}

Breaches check_header_guards(const SourceTree& tree) {
  Breaches breaches;
  for (const auto& [path, text] : tree) {
    if (!is_header(path)) continue;
    const std::string code = without_comments(text, true);
    const auto lines = lines_of(code);
    const auto first = std::find_if(lines.begin(), lines.end(), [](std::string_view line) {
      return line.find_first_not_of(" \t\r") != std::string_view::npos;
    });
    const bool guarded = first != lines.end() && (first->starts_with("#pragma once") ||
                                                  (path.ends_with(".h") && first->starts_with("#ifndef")));
    if (!guarded) breaches.push_back(path + ": does not begin with #pragma once");
  }
  return breaches;
}

}  // namespace weir::arch
