/* One plugin for each way to be wrong; the build defines which. */
#include <weir/weir_filter.h>

static void* create(const weir_filter_parameters* parameters, const weir_filter_host* host, char* error,
                    uint32_t error_size) {
  (void)parameters, (void)host, (void)error, (void)error_size;
  return (void*)host;
}
__attribute__((unused)) static int32_t process(void* instance, const weir_filter_slice* slice,
                                               weir_filter_decision* decision, char* error,
                                               uint32_t error_size) {
  (void)instance, (void)slice, (void)error, (void)error_size;
  decision->verdict = WEIR_FILTER_ACCEPT;
  return 0;
}
static void destroy(void* instance) { (void)instance; }

/* Without any of these it is the least that ABI 1 requires, and nothing is wrong. */
#ifndef ABI
#define ABI WEIR_FILTER_ABI_VERSION
#endif
#ifndef SIZE
#define SIZE sizeof(weir_filter_plugin)
#endif
#ifndef PROCESS
#define PROCESS process
#endif

static const weir_filter_plugin plugin = {.struct_size = SIZE,
                                          .abi_version = ABI,
                                          .name = "wrong",
                                          .version = "1.0",
                                          .description = "wrong in one way",
                                          .create = create,
                                          .process = PROCESS,
                                          .destroy = destroy};

#if defined(OTHER_SYMBOL)
WEIR_FILTER_EXPORT const weir_filter_plugin* weir_filter_plugin_v3(void);
const weir_filter_plugin* weir_filter_plugin_v3(void) { return &plugin; }
#elif defined(NO_SYMBOL)
WEIR_FILTER_EXPORT const weir_filter_plugin* some_other_symbol(void);
const weir_filter_plugin* some_other_symbol(void) { return &plugin; }
#else
const weir_filter_plugin* weir_filter_plugin_v1(void) { return &plugin; }
#endif
