// Throws through the C border, which the rules forbid.
#include <weir/weir_filter.h>

#include <stdexcept>

namespace {

void* create(const weir_filter_parameters* parameters, const weir_filter_host*, char*, uint32_t) {
  static int instance = 0;
  if (parameters->count > 0) throw std::runtime_error("rude from the start");
  return &instance;
}
int32_t begin_run(void*, const weir_filter_run* run, char*, uint32_t) {
  if (run->run == 13) throw std::runtime_error("superstition");
  return 0;
}
int32_t process(void*, const weir_filter_slice*, weir_filter_decision*, char*, uint32_t) {
  throw std::runtime_error("rude");
}
void end_run(void*) { throw 1; }
void destroy(void*) { throw std::runtime_error("rude to the end"); }

const weir_filter_plugin plugin = {.struct_size = sizeof(weir_filter_plugin),
                                   .abi_version = WEIR_FILTER_ABI_VERSION,
                                   .name = "rude",
                                   .version = "1.0",
                                   .description = "throws",
                                   .create = &create,
                                   .begin_run = &begin_run,
                                   .process = &process,
                                   .end_run = &end_run,
                                   .destroy = &destroy,
                                   .first_sources = nullptr};

}  // namespace

const weir_filter_plugin* weir_filter_plugin_v1() { return &plugin; }
