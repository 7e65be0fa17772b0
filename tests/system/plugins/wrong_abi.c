/* A plugin of an ABI that is not this one's. */
#include <weir/weir_filter.h>

static void* create(const weir_filter_parameters* parameters, const weir_filter_host* host, char* error,
                    uint32_t error_size) {
  (void)parameters, (void)error, (void)error_size;
  return (void*)host;
}
static int32_t process(void* instance, const weir_filter_slice* slice, weir_filter_decision* decision,
                       char* error, uint32_t error_size) {
  (void)instance, (void)slice, (void)error, (void)error_size;
  decision->verdict = WEIR_FILTER_ACCEPT;
  return 0;
}
static void destroy(void* instance) { (void)instance; }

static const weir_filter_plugin plugin = {.struct_size = sizeof(weir_filter_plugin),
                                          .abi_version = WEIR_FILTER_ABI_VERSION + 1,
                                          .name = "wrong-abi",
                                          .version = "1.0",
                                          .description = "of another ABI",
                                          .create = create,
                                          .process = process,
                                          .destroy = destroy};

const weir_filter_plugin* weir_filter_plugin_v1(void) { return &plugin; }
