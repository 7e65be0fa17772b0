#include <weir/launch/control_process.hpp>
#include <weir/node/setup.hpp>

#include <utility>

namespace weir::launch {
namespace {

// Returns the text between `before` and the next character of `ends`, or an empty string if `before` does not
// occur.
std::string word_after(const std::string& text, const std::string& before, const char* ends) {
  const std::size_t at = text.find(before);
  if (at == text.npos) return {};
  const std::size_t from = at + before.size();
  return text.substr(from, text.find_first_of(ends, from) - from);
}

}  // namespace

ChildSettings control_child(const ControlChildSettings& settings) {
  ChildSettings child;
  child.program = settings.program_folder + "/weir-run-control";
  child.arguments = {"--farm", settings.farm_file, "--listen", settings.listen};
  for (const std::string& one : settings.sets) child.arguments.insert(child.arguments.end(), {"--set", one});
  if (!settings.page.empty()) child.arguments.insert(child.arguments.end(), {"--page", settings.page});
  if (!settings.log_level.empty())
    child.arguments.insert(child.arguments.end(), {"--log-level", settings.log_level});
  child.arguments.insert(child.arguments.end(), settings.more.begin(), settings.more.end());
  child.log_file = settings.log_file;
  child.log_files_kept = settings.log_files_kept;
  child.read_output = true;
  child.network = settings.network;
  return child;
}

std::optional<ControlPlace> control_place(const std::string& output, const std::string& listen) {
  const std::string port = word_after(output, "run-control ", " \n");
  const std::size_t page = output.find("page ");
  if (port.empty() || page == output.npos || output.find('\n', page) == output.npos) return std::nullopt;
  std::string url = word_after(output, "page ", "\n");
  if (url == "none") url.clear();
  return ControlPlace{listen.substr(0, listen.rfind(':')) + ":" + port, word_after(url, "://", "/"), url};
}

bool control_says_off(const std::string& output) { return output.find("\noff\n") != output.npos; }

Expected<bus::ClientSettings, std::string> bus_client(const std::string& at, const std::string& keys_folder,
                                                      security::BusRole role) {
  if (at.find("://") != at.npos)
    return Unexpected<std::string>("'" + at +
                                   "' is an address of a page: give HOST:PORT of run control's bus, "
                                   "control.listen in the farm file");
  const ports::Endpoint endpoint = node::parse_endpoint(at);
  bus::ClientSettings settings;
  settings.host = endpoint.host == "0.0.0.0" ? "127.0.0.1" : endpoint.host;
  settings.port = endpoint.port;
  if (keys_folder.empty()) return settings;
  auto keys = security::read_curve_keys(keys_folder + "/" + security::curve_file(role));
  if (!keys) return Unexpected<std::string>(keys.error());
  settings.keys = std::move(*keys);
  return settings;
}

}  // namespace weir::launch
