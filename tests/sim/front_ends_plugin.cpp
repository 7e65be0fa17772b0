// The plugin of simulated front-ends: their code is in the simulator.
#include <weir/weir_source.h>

#include <dlfcn.h>

extern "C" WEIR_SOURCE_EXPORT const weir_source_plugin* weir_source_plugin_v1(void) {
  using Get = const weir_source_plugin* (*)();
  const auto get = reinterpret_cast<Get>(::dlsym(RTLD_DEFAULT, "weir_sim_source_plugin"));
  return get == nullptr ? nullptr : get();
}
