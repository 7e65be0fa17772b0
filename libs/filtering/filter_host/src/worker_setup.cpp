#include <weir/filter_host/worker_setup.hpp>

namespace weir::filter_host {

v1::WorkerMessage::Setup setup_of(const std::string& plugin, const std::vector<std::string>& search_path,
                                  const FilterConfig& config) {
  v1::WorkerMessage::Setup setup;
  setup.set_plugin(plugin);
  for (const std::string& folder : search_path) setup.add_search_path(folder);
  for (const auto& [name, value] : config.parameters) {
    v1::WorkerMessage::Parameter& parameter = *setup.add_parameters();
    parameter.set_name(name);
    parameter.set_value(value);
  }
  for (const auto& [name, number] : config.forward_groups) {
    v1::WorkerMessage::ForwardGroup& group = *setup.add_forward_groups();
    group.set_name(name);
    group.set_number(number);
  }
  for (const NamedSources& group : config.groups) {
    v1::WorkerMessage::SourceGroup& sent = *setup.add_groups();
    sent.set_name(group.name);
    sent.mutable_sources()->Assign(group.sources.begin(), group.sources.end());
  }
  setup.set_event_bytes_max(config.limits.event_bytes_max);
  setup.set_events_max(config.limits.events_max);
  setup.set_filter_result_bytes_max(config.limits.filter_result_bytes_max);
  setup.set_log_lines_max(config.limits.log_lines_max);
  return setup;
}

plugin_loader::PluginCopy copy_of(const v1::WorkerMessage::Setup& setup) {
  plugin_loader::PluginCopy copy;
  for (const auto& file : setup.files()) copy.files.push_back({file.path(), file.content()});
  copy.crc32c = setup.crc32c();
  return copy;
}

FilterConfig config_of(const v1::WorkerMessage::Setup& setup) {
  FilterConfig config;
  for (const auto& parameter : setup.parameters())
    config.parameters.emplace_back(parameter.name(), parameter.value());
  config.streams = StreamTable({setup.streams().begin(), setup.streams().end()});
  for (const auto& group : setup.forward_groups())
    config.forward_groups.emplace_back(group.name(), group.number());
  for (const auto& group : setup.groups())
    config.groups.push_back({group.name(), {group.sources().begin(), group.sources().end()}});
  config.limits.event_bytes_max = setup.event_bytes_max();
  config.limits.events_max = setup.events_max();
  config.limits.filter_result_bytes_max = setup.filter_result_bytes_max();
  config.limits.log_lines_max = setup.log_lines_max();
  return config;
}

}  // namespace weir::filter_host
