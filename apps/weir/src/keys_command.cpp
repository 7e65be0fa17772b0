#include "commands.hpp"
#include <weir/run/exit_status.hpp>
#include <weir/security/keys.hpp>

#include <CLI/CLI.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <sys/stat.h>
#include <vector>

namespace weir::commands {
namespace {

using security::BusRole;

constexpr mode_t kFolderMode = 0700;
constexpr BusRole kClientRoles[] = {BusRole::node, BusRole::observer, BusRole::operator_};

constexpr const char* kKeysFooter =
    "\nThe farm's processes authenticate each other with farm.key; the farm file names it as\n"
    "security.key_file. The .curve files are for the bus of run control. docs/security.md lists the "
    "processes that need each file.\n"
    "\nTo change the farm's key while farms run: `add` a key and distribute the file; when every process\n"
    "has been restarted, `use` it and distribute the file; after that `drop` the old one.";

struct Options {
  std::string folder;
  std::string name;
  std::string role = "operator";
};

[[noreturn]] void fail(const std::string& why) { throw std::runtime_error(why); }

std::string path_of(const Options& options, std::string_view file) {
  return options.folder + "/" + std::string(file);
}

std::string today() { return fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr))); }

void check_name(const std::string& name) {
  if (security::good_key_name(name)) return;
  fail(fmt::format("'{}' is not a valid key name: use up to {} letters, digits, '.', '_' and '-'", name,
                   security::kKeyNameMax));
}

void must(const std::string& failure) {
  if (!failure.empty()) fail(failure);
}

security::FarmKeys farm_keys(const Options& options) {
  auto keys = security::read_farm_keys(path_of(options, security::kFarmKeyFile));
  if (!keys) fail(keys.error());
  return std::move(*keys);
}

void store(const Options& options, const security::FarmKeys& keys) {
  must(security::replace_file(path_of(options, security::kFarmKeyFile), security::to_text(keys), true));
}

auto find_key(security::FarmKeys& keys, const std::string& name) {
  const auto found =
      std::find_if(keys.keys.begin(), keys.keys.end(), [&](const auto& key) { return key.name == name; });
  if (found == keys.keys.end())
    fail(fmt::format("key '{}' does not exist: `weir keys show` lists the keys", name));
  return found;
}

void show(const Options& options) {
  const security::FarmKeys keys = farm_keys(options);
  fmt::print("{}\n", path_of(options, security::kFarmKeyFile));
  for (const security::FarmKey& key : keys.keys) {
    fmt::print("  {:<20} {}  {}\n", key.name, security::fingerprint(key),
               &key == &keys.keys.front() ? "used" : "accepted");
  }
  const auto clients = security::read_clients(path_of(options, security::kClientsFile));
  if (!clients) fail(clients.error());
  fmt::print("{}\n", path_of(options, security::kClientsFile));
  for (const security::AllowedClient& client : *clients)
    fmt::print("  {:<20} {:<10} {}\n", client.name, security::name(client.role), client.public_key);
}

void make_new(const Options& options) {
  const std::string name = options.name.empty() ? today() : options.name;
  check_name(name);
  if (::mkdir(options.folder.c_str(), kFolderMode) != 0 && errno != EEXIST)
    fail(fmt::format("{}: cannot be created: {}", options.folder, std::strerror(errno)));
  struct NewFile {
    std::string path;
    std::string text;
    bool secret = true;
  };
  const security::CurveKeys control = security::make_curve_keys(BusRole::control, "");
  std::vector<NewFile> files{
      {path_of(options, security::kFarmKeyFile),
       security::to_text(security::FarmKeys{{security::make_farm_key(name)}})},
      {path_of(options, security::curve_file(BusRole::control)), security::to_text(control)}};
  std::vector<security::AllowedClient> clients;
  for (const BusRole role : kClientRoles) {
    const security::CurveKeys keys = security::make_curve_keys(role, control.server_public);
    files.push_back({path_of(options, security::curve_file(role)), security::to_text(keys)});
    clients.push_back({std::string(security::name(role)), role, keys.public_key});
  }
  files.push_back({path_of(options, security::kClientsFile), security::to_text(clients), false});
  for (const NewFile& file : files) {
    std::error_code none;
    if (std::filesystem::exists(std::filesystem::symlink_status(file.path, none)))
      fail(file.path + ": already exists, and keys are never overwritten: choose another folder");
  }
  for (const NewFile& file : files) must(security::write_new_file(file.path, file.text, file.secret));
  for (const NewFile& file : files) fmt::print("{}\n", file.path);
}

void add_key(const Options& options) {
  security::FarmKeys keys = farm_keys(options);
  const std::string name = options.name.empty() ? today() : options.name;
  check_name(name);
  if (keys.find(name) != nullptr) fail(fmt::format("key '{}' already exists: choose another name", name));
  if (keys.keys.size() == security::kFarmKeysMax)
    fail(fmt::format("the file already has {} keys: drop one that is no longer used", keys.keys.size()));
  keys.keys.push_back(security::make_farm_key(name));
  store(options, keys);
  fmt::print("key {} is accepted by every process with the new {}\n", name, security::kFarmKeyFile);
}

void use_key(const Options& options) {
  security::FarmKeys keys = farm_keys(options);
  const auto found = find_key(keys, options.name);
  std::rotate(keys.keys.begin(), found, found + 1);
  store(options, keys);
  fmt::print("key {} is used by every process with the new {}\n", options.name, security::kFarmKeyFile);
}

void drop_key(const Options& options) {
  security::FarmKeys keys = farm_keys(options);
  const auto found = find_key(keys, options.name);
  if (found == keys.keys.begin())
    fail(fmt::format("key '{}' is in use: `weir keys use` another one first", options.name));
  keys.keys.erase(found);
  store(options, keys);
  fmt::print("key {} is refused by every process with the new {}\n", options.name, security::kFarmKeyFile);
}

// A new file, or a further key in it.
void add_trigger_key(const Options& options) {
  const std::string file = path_of(options, security::kTriggerKeyFile);
  const std::string name = options.name.empty() ? today() : options.name;
  check_name(name);
  if (::mkdir(options.folder.c_str(), kFolderMode) != 0 && errno != EEXIST)
    fail(fmt::format("{}: cannot be created: {}", options.folder, std::strerror(errno)));
  security::FarmKeys keys;
  std::error_code none;
  if (std::filesystem::exists(std::filesystem::symlink_status(file, none))) {
    auto found = security::read_trigger_keys(file);
    if (!found) fail(found.error());
    keys = std::move(*found);
  }
  if (keys.find(name) != nullptr)
    fail(fmt::format("key '{}' already exists in {}: choose another name with --name", name, file));
  if (keys.keys.size() == security::kFarmKeysMax)
    fail(fmt::format("{} already has {} keys: remove the line of one that is no longer used", file,
                     keys.keys.size()));
  keys.keys.push_back(security::make_farm_key(name));
  must(security::replace_file(file, security::trigger_keys_text(keys), true));
  fmt::print("{}\n", file);
}

void add_client(const Options& options) {
  check_name(options.name);
  const auto control = security::read_curve_keys(path_of(options, security::curve_file(BusRole::control)));
  if (!control) fail(control.error());
  const std::string list = path_of(options, security::kClientsFile);
  auto clients = security::read_clients(list);
  if (!clients) fail(clients.error());
  for (const security::AllowedClient& client : *clients) {
    if (client.name == options.name)
      fail(fmt::format("client '{}' already exists: choose another name", options.name));
  }
  if (clients->size() == security::kClientsMax) fail(list + ": holds the maximum number of clients");
  const auto* role = std::find_if(std::begin(kClientRoles), std::end(kClientRoles),
                                  [&](BusRole each) { return security::name(each) == options.role; });
  const security::CurveKeys keys = security::make_curve_keys(*role, control->server_public);
  const std::string file = path_of(options, options.name + ".curve");
  must(security::write_new_file(file, security::to_text(keys), true));
  clients->push_back({options.name, *role, keys.public_key});
  must(security::replace_file(list, security::to_text(*clients), false));
  fmt::print("{}\n{}\n", file, list);
}

CLI::App* add_action(CLI::App& keys, int& status, const char* name, const char* what,
                     const std::shared_ptr<Options>& options, void (*action)(const Options&)) {
  CLI::App* command = keys.add_subcommand(name, what);
  command->add_option("FOLDER", options->folder, "folder of the keys")->required();
  command->callback([options, action, &status] {
    try {
      action(*options);
      status = run::kExitFine;
    } catch (const std::exception& error) {
      fmt::print(stderr, "weir keys: {}\n", error.what());
      status = run::kExitFailed;
    }
  });
  return command;
}

}  // namespace

void add_keys(CLI::App& app, int& status) {
  CLI::App* keys = app.add_subcommand("keys", "Create and change the keys of a farm");
  keys->footer(kKeysFooter);
  keys->require_subcommand(1);
  const auto options = std::make_shared<Options>();
  CLI::App* one =
      add_action(*keys, status, "new", "Create a folder with all keys of a farm", options, make_new);
  one->add_option("--name", options->name, "name of the farm key (default: the date)");
  add_action(*keys, status, "show", "List keys and clients, without secrets", options, show);
  one =
      add_action(*keys, status, "add", "Add a farm key that is accepted, but not used yet", options, add_key);
  one->add_option("--name", options->name, "name of the farm key (default: the date)");
  one = add_action(*keys, status, "use", "Use this farm key from now on", options, use_key);
  one->add_option("NAME", options->name, "name of the farm key")->required();
  one = add_action(*keys, status, "drop", "Remove a farm key; it is refused from now on", options, drop_key);
  one->add_option("NAME", options->name, "name of the farm key")->required();
  one = add_action(*keys, status, "trigger", "Create a key of trigger clients, or add one", options,
                   add_trigger_key);
  one->add_option("--name", options->name, "name of the key (default: the date)");
  one = add_action(*keys, status, "client", "Create the keys of a further client of the bus", options,
                   add_client);
  one->add_option("NAME", options->name, "name of the client and of its file")->required();
  one->add_option("--role", options->role, "role of the client (default operator)")
      ->check(CLI::IsMember({"node", "observer", "operator"}))
      ->capture_default_str();
}

}  // namespace weir::commands
