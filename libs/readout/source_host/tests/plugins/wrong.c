/* One plugin for each way to be wrong; the build defines which. */
#include <weir/weir_source.h>

#ifdef NASTY
/* What gets into logs, pages and terminals of others, if it is let. */
#define NASTY_TEXT "one\nlevel=error \x1b[2J \xff"
#endif

static void* create(const weir_source_parameters* parameters, const weir_source_readout* readout,
                    const weir_source_host* host, char* error, uint32_t error_size) {
  (void)parameters, (void)readout, (void)error, (void)error_size;
#ifdef NASTY
  host->log(host, WEIR_SOURCE_LOG_INFO, NASTY_TEXT);
  host->count(host, host->counter(host, NASTY_TEXT), 1);
#endif
  return (void*)host;
}
static void destroy(void* instance) { (void)instance; }
__attribute__((unused)) static void poll(void* instance, int64_t now_ns) { (void)instance, (void)now_ns; }

/* Without any of these it is the least that ABI 1 requires, and nothing is wrong. */
#ifndef ABI
#define ABI WEIR_SOURCE_ABI_VERSION
#endif
#ifndef SIZE
#define SIZE sizeof(weir_source_plugin)
#endif
#ifdef NASTY
#define NAME NASTY_TEXT
#else
#define NAME "wrong"
#endif
#ifndef POLL
#define POLL poll
#endif

static const weir_source_plugin plugin = {.struct_size = SIZE,
                                          .abi_version = ABI,
                                          .name = NAME,
                                          .version = "1.0" NAME,
                                          .description = "wrong in one way" NAME,
                                          .create = create,
                                          .destroy = destroy,
                                          .poll = POLL};

#if defined(OTHER_SYMBOL)
WEIR_SOURCE_EXPORT const weir_source_plugin* weir_source_plugin_v3(void);
const weir_source_plugin* weir_source_plugin_v3(void) { return &plugin; }
#else
const weir_source_plugin* weir_source_plugin_v1(void) { return &plugin; }
#endif
