/*
 * Weir source ABI, version 1.
 *
 * A source plugin is a shared library with one exported symbol, `weir_source_plugin_v1`. It is the
 * front-end's side of a readout: it hands over the fragments of the sources that this readout serves. This
 * header is plain C11 and needs nothing else; weir/source.hpp wraps it for C++20.
 *
 * Life of an instance, one per readout:
 *   create - (begin_run - (poll, announced, make)* - end_run)* - destroy
 *
 * Two ways to hand fragments over, and a plugin has one of them for all its sources:
 *   make != NULL   The host asks for each fragment when its slice is announced, and gets it at once:
 * emulators, a card whose memory is mapped. make == NULL   Fragments come on their own time. The plugin calls
 * host->deliver for each, from inside poll, announced or begin_run, and host->watermark when a source is done
 * with a slice. The host matches them with the slices that are announced, in whichever order the two come.
 *
 * Threads: all calls come from the readout's one thread, and never overlap. Nothing may wait in them: the
 * same thread serves the readout's clients. A plugin may have threads of its own; these may call host->wake,
 * and no other host function.
 *
 * Growth: every struct begins with its size as the side that filled it knew it. Version 1 only ever appends
 * fields; whoever reads a field that is not in the first release compares struct_size first. An entry of a
 * table carries no size: the struct that holds the table says how far apart its entries are.
 *
 * Ownership: what the host hands in is the host's, and valid until the call returns unless said otherwise.
 * Bytes that a plugin delivers stay where they are, and belong to the host until it calls their release.
 * Nothing may be thrown through these functions.
 */
/* This file is C, whoever includes it. NOLINTBEGIN(modernize-*) */
#ifndef WEIR_WEIR_SOURCE_H
#define WEIR_WEIR_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEIR_SOURCE_ABI_VERSION 1u
#define WEIR_SOURCE_ENTRY_POINT "weir_source_plugin_v1"

#if defined(__GNUC__)
#define WEIR_SOURCE_EXPORT __attribute__((visibility("default")))
#else
#define WEIR_SOURCE_EXPORT
#endif

/* ---- Fragments ---- */

/* Numbers as in weir_filter.h; those that a source has no use for are left out. */
enum {
  WEIR_SOURCE_OK = 0,
  WEIR_SOURCE_MISSING = 1,   /* there is none, and none will come: see missing_reason */
  WEIR_SOURCE_TRUNCATED = 2, /* the front-end cut it; what is there is good */
  WEIR_SOURCE_CORRUPT = 3,   /* the front-end marked it as damaged */
  WEIR_SOURCE_SUPPRESSED = 4 /* the front-end held data back on purpose */
};

enum {
  WEIR_SOURCE_NOT_PRODUCED = 4, /* there was nothing for this slice */
  WEIR_SOURCE_DROPPED = 5,      /* it was there, and there was no room for it */
  WEIR_SOURCE_GAP = 11          /* it was sent, and a part was lost on the way */
};

enum {
  WEIR_SOURCE_HAS_CRC32C =
      1u /* `crc32c` is filled in, and covers the bytes; otherwise the host computes it */
};

/* One source's part of one slice. */
typedef struct weir_source_fragment {
  uint32_t struct_size;
  uint32_t source;
  uint64_t slice;
  uint8_t status;         /* WEIR_SOURCE_OK ... */
  uint8_t missing_reason; /* with WEIR_SOURCE_MISSING */
  uint16_t flags;         /* WEIR_SOURCE_HAS_CRC32C */
  uint32_t crc32c;        /* Castagnoli; ignored in a farm without checksums */
  const void* data;       /* may be NULL when length is 0 */
  uint32_t length;        /* bytes */
  uint32_t reserved;
  /* Called once, with `owner`, when the host needs the bytes no more: in the readout's thread, before
   * destroy, and possibly before the function that handed them over returns. NULL: the bytes live until
   * destroy. */
  void (*release)(void* owner);
  void* owner;
} weir_source_fragment;

/* A slice that the farm builds. */
typedef struct weir_source_trigger {
  uint64_t slice;
  int64_t time_utc_ns;
  int64_t duration_ns; /* of a time slice; 0 for an event */
  uint32_t type;
  uint32_t reserved;
} weir_source_trigger;

/* ---- What the host offers ---- */

enum {
  WEIR_SOURCE_LOG_DEBUG = 0,
  WEIR_SOURCE_LOG_INFO = 1,
  WEIR_SOURCE_LOG_WARNING = 2,
  WEIR_SOURCE_LOG_ERROR = 3
};

/* A counter that could not be had; using it does nothing. */
#define WEIR_SOURCE_NO_COUNTER UINT32_MAX
/* All sources of the readout, or none that is known. */
#define WEIR_SOURCE_ALL UINT32_MAX

/* What became of a delivered fragment. Whatever it is, the bytes are the host's, and are released. The
 * readout counts each; nothing needs to be done about it. */
enum {
  WEIR_DELIVER_TAKEN = 0,
  WEIR_DELIVER_LATE = 1,      /* its slice is settled, given up, or below the source's watermark */
  WEIR_DELIVER_DUPLICATE = 2, /* there was one already */
  WEIR_DELIVER_TOO_LARGE = 3,
  WEIR_DELIVER_FULL = 4,           /* the readout has no room */
  WEIR_DELIVER_UNKNOWN_SOURCE = 5, /* not one of this instance's */
  WEIR_DELIVER_NOT_NOW = 6,        /* no run, another thread, or a plugin with make */
  WEIR_DELIVER_BAD = 7             /* a status or a reason that there is not, no data for a length above 0 */
};

/* Services, valid from create to the end of destroy. The first argument is always the struct itself. */
typedef struct weir_source_host weir_source_host;
struct weir_source_host {
  uint32_t struct_size;
  uint32_t abi_version; /* WEIR_SOURCE_ABI_VERSION of the host */
  void* context;        /* the host's */

  /* One line of text, without a line feed. Past a number of lines per run they are counted, not written. */
  void (*log)(const weir_source_host* host, int32_t level, const char* text);

  /* A counter is named once and then used by its number; it stands in the readout's report as `source.NAME`.
   */
  uint32_t (*counter)(const weir_source_host* host, const char* name);
  void (*count)(const weir_source_host* host, uint32_t counter, uint64_t amount);

  /* Hands a fragment over: WEIR_DELIVER_... */
  int32_t (*deliver)(const weir_source_host* host, const weir_source_fragment* fragment);
  /* Nothing of this source will be delivered any more up to and including this slice. What was not is missing
   * for `missing_reason` (WEIR_SOURCE_NOT_PRODUCED or WEIR_SOURCE_GAP): as far as the mark before, that one's
   * reason stays. */
  void (*watermark)(const weir_source_host* host, uint32_t source, uint64_t slice, uint8_t missing_reason);

  /* Any thread: poll is called soon, from the readout's thread. */
  void (*wake)(const weir_source_host* host);

  /* Not in the first release: compare struct_size. Both in a run, from the readout's thread. */

  /* Adds to the pieces (packets, buffers) that have reached `source`, and to those of them that the plugin
   * threw away for `reason`, a word. WEIR_SOURCE_ALL: pieces without a known source. A
   * source that loses more than the farm's source.loss_share_max is named in the run's summary, and the run
   * ends with status 3. Repeated pieces are not losses. */
  void (*losses)(const weir_source_host* host, uint32_t source, uint64_t reached, uint64_t lost,
                 const char* reason);
  /* Something went wrong with a front-end that the people of the run have to know: one sentence, logged and
   * named in the run's summary, and the run ends with status 3. */
  void (*fault)(const weir_source_host* host, const char* text);
};

/* ---- What a plugin is ---- */

/* One `name: value` from the farm file, as text. */
typedef struct weir_source_parameter {
  const char* name;
  const char* value;
} weir_source_parameter;

typedef struct weir_source_parameters {
  uint32_t struct_size;
  uint32_t count;
  uint32_t stride; /* bytes from one table entry to the next */
  uint32_t reserved;
  const weir_source_parameter* table; /* each name once */
} weir_source_parameters;

/* Which readout this is. */
typedef struct weir_source_readout {
  uint32_t struct_size;
  uint32_t index;          /* counts the farm's readouts from 0, masked ones too */
  const char* name;        /* valid until destroy has returned, as is the next */
  const uint32_t* sources; /* that it serves, masked ones left out; sorted */
  uint32_t source_count;
  uint32_t fragment_bytes_max; /* no collector takes a larger fragment */
} weir_source_readout;

typedef struct weir_source_run {
  uint32_t struct_size;
  uint32_t run;
  uint64_t first_slice; /* nothing below will be announced to this readout */
} weir_source_run;

/* `error` is a buffer of error_size >= 256 bytes for a sentence that ends with a zero byte; it is read when
 * the function returns something else than success. Functions marked (optional) may be NULL. */
typedef struct weir_source_plugin {
  uint32_t struct_size;
  uint32_t abi_version;    /* WEIR_SOURCE_ABI_VERSION */
  const char* name;        /* as in the farm file and in the name of the library, `name`.so */
  const char* version;     /* of the plugin */
  const char* description; /* one line */

  /* A new instance, or NULL with an error. An unknown or unusable parameter is an error. `parameters` is
   * valid during the call, `readout` and `host` until destroy has returned. */
  void* (*create)(const weir_source_parameters* parameters, const weir_source_readout* readout,
                  const weir_source_host* host, char* error, uint32_t error_size);
  /* (optional) 0, or another value with an error: the readout then ends. */
  int32_t (*begin_run)(void* instance, const weir_source_run* run, char* error, uint32_t error_size);
  /* (optional) */
  void (*end_run)(void* instance);
  /* All bytes that were delivered have been released before. */
  void (*destroy)(void* instance);

  /* Fills in the fragment of `source` for a slice that was just announced; source, slice and struct_size are
   * set, the rest is zero. 0, or another value with an error: the fragment is then missing (not_produced),
   * counted. NULL: the fragments are delivered. */
  int32_t (*make)(void* instance, uint32_t source, const weir_source_trigger* trigger,
                  weir_source_fragment* fragment, char* error, uint32_t error_size);

  /* (optional when there is make) In a run: when `fd` is readable, after wake, and some 100 times a second
   * besides. A bounded piece of work: with more to do, it is called again when the readout's clients had
   * their turn, if `fd` is readable still or wake was called. `now_ns` is a monotonic clock. */
  void (*poll)(void* instance, int64_t now_ns);
  /* (optional) A file descriptor to wait on for reading, or -1; the plugin's, the same from create to
   * destroy. */
  int32_t (*fd)(void* instance);
  /* (optional) These slices were announced to the readout: for front-ends that are read out on demand. */
  void (*announced)(void* instance, const weir_source_trigger* triggers, uint32_t count, uint32_t stride);
} weir_source_plugin;

/* The exported symbol. The struct must stay valid for as long as the library is loaded. */
typedef const weir_source_plugin* (*weir_source_entry_point)(void);
WEIR_SOURCE_EXPORT const weir_source_plugin* weir_source_plugin_v1(void);

#ifdef __cplusplus
}
#endif

#endif
/* NOLINTEND(modernize-*) */
