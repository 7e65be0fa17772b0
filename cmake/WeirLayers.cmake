# The house's floors. An arrow goes only down: a library may depend on libraries of lower layers, and on a
# neighbour only where the table below says why. docs/architecture.md explains the layers.

set(WEIR_LAYER_0 base plugin_abi filter_abi source_abi)
set(WEIR_LAYER_1 wire metrics histograms packets filter_job slice_rows fabric line_figures switching)
set(WEIR_LAYER_2 source steps emulation shaping assembly assignment numbering burst control ports tap history worker_pool host_watch packet_model)
set(WEIR_LAYER_3 clock json proto slice_codec security bus sessions reports transport http ingest last_words plugin_loader filter_host orphans child_process python_host source_host storage file_reader config telemetry packet_switch simnet)
set(WEIR_LAYER_4 capture filter_try page lab node plugin_trial farm_view launch run_record run_database hooks readout_node dcm_node supervisor_node writer_node switch_node)
set(WEIR_LAYER_5 run run_control bench emit probe tap_client)
set(WEIR_LAYER_MAX 5)
set(WEIR_LAYER_TOP 6)  # executables and plugins: nothing depends on them

# Above this layer a library may know the network, threads and the clock; up to it, it is a pure machine.
set(WEIR_PURE_LAYER_MAX 2)
set(WEIR_IMPURE_LINKS "^(cppzmq|Threads::|protobuf::|spdlog::|prometheus-cpp::|OpenSSL::SSL)")

# "from>to" within one layer, each with its reason.
set(WEIR_SIDEWAYS
    "emulation>source"  # emulated sources are sources
    "packet_model>shaping"  # runs the shapers and the barrel on modelled networks
    "bus>proto" "bus>security"  # carries the generated types, under the farm's keys
    "transport>clock" "http>clock" "packet_switch>clock" "telemetry>clock" "filter_host>clock"  # read in one place
    "filter_host>proto"  # what a DCM and its filter workers tell each other
    "child_process>orphans"  # what a child leaves running
    "filter_host>orphans"  # adopts what filters in workers leave running
    # Filter workers and source hosts are children with a lane.
    "filter_host>child_process" "source_host>child_process" "source_host>orphans" "source_host>clock"
    "source_host>python_host"  # finds the interpreter of sources in Python
    "filter_host>last_words"  # the slice that a filter in the process works on
    "sessions>proto"  # hellos and control messages are of generated types
    "reports>proto"   # reads and writes them
    "slice_codec>proto"  # converts rows and messages
    "slice_rows>wire"  # the id of a copy is an entry of frames
    "config>proto"    # the farm file's schema is a Protocol Buffers message
    "telemetry>proto" "telemetry>reports" "telemetry>http"  # exports nodes' reports, over HTTP
    "ingest>storage"  # a replay source reads Weir's own run files
    "ingest>json"     # and folders with an index.json
    "file_reader>storage" "file_reader>json"  # run files, and the histograms beside them
    "filter_job>histograms"  # a result has what is filled into histograms
    # Both kinds of plugin read their parameters, and are found and refused, alike.
    "filter_abi>plugin_abi" "source_abi>plugin_abi" "filter_host>plugin_loader" "source_host>plugin_loader"
    # What every executable does alike: start-up, reports, the connection to the supervisor.
    "readout_node>node" "dcm_node>node" "supervisor_node>node" "writer_node>node"
    # Processes of nodes are started, and shown with their end.
    "launch>node" "launch>farm_view"
    "page>farm_view"  # the state of a process, as `weir top` shows it
    # A run's record has how each process ended.
    "run_record>node" "run_record>launch"
    "run_database>run_record"  # what it follows
    "hooks>run_record"  # a hook gets the records of its run
    # Benchmarks start farms as `weir run` does.
    "bench>run"
)

# weir_layer_of(OUT NAME): the layer of a library of the table or of one already declared; empty if unknown.
function(weir_layer_of out name)
  foreach(layer RANGE 0 ${WEIR_LAYER_MAX})
    if(name IN_LIST WEIR_LAYER_${layer})
      set(${out} ${layer} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  get_property(layer GLOBAL PROPERTY WEIR_LAYER_OF_${name})
  set(${out} "${layer}" PARENT_SCOPE)
endfunction()

# weir_check_layers(NAME LAYER DEPENDS... ): refuses a library that is on the wrong floor or depends upward,
# sideways or on nothing known.
function(weir_check_layers name layer)
  weir_layer_of(table_layer ${name})
  if(layer LESS 0 OR layer GREATER WEIR_LAYER_MAX)
    message(FATAL_ERROR "library '${name}': LAYER is 0 to ${WEIR_LAYER_MAX}, not '${layer}'")
  elseif(table_layer STREQUAL "")
    message(FATAL_ERROR "library '${name}' is not in the table of layers: add it to WEIR_LAYER_${layer} in "
                        "cmake/WeirLayers.cmake, and to docs/architecture.md")
  elseif(NOT table_layer STREQUAL "" AND NOT table_layer EQUAL layer)
    message(FATAL_ERROR "library '${name}' says LAYER ${layer}, cmake/WeirLayers.cmake says ${table_layer}")
  endif()
  foreach(dependency IN LISTS ARGN)
    weir_layer_of(below ${dependency})
    if(below STREQUAL "")
      message(FATAL_ERROR "library '${name}' (layer ${layer}) depends on '${dependency}', which no library "
                          "declares: check the name; a library is declared before its users, in layer order")
    elseif(below GREATER layer)
      message(FATAL_ERROR "library '${name}' (layer ${layer}) depends upward on '${dependency}' (layer "
                          "${below}): an arrow goes only down. Move the shared part to a lower layer, or let "
                          "'${dependency}' hand in what '${name}' needs through an interface of libs/network/ports")
    elseif(below EQUAL layer AND NOT "${name}>${dependency}" IN_LIST WEIR_SIDEWAYS)
      message(FATAL_ERROR "library '${name}' (layer ${layer}) depends sideways on '${dependency}' (layer "
                          "${below}): move the shared part to a lower layer, or, with a reason, add "
                          "'${name}>${dependency}' to WEIR_SIDEWAYS in cmake/WeirLayers.cmake")
    elseif(NOT TARGET weir_${dependency})
      message(FATAL_ERROR "library '${name}' depends on '${dependency}', which is not declared yet: is "
                          "its CMakeLists.txt in a wing of libs/, and listed before '${name}'?")
    endif()
  endforeach()
endfunction()

# weir_check_pure_links(NAME LAYER LINKS...): the pure layers link no network, thread, schema or log package.
function(weir_check_pure_links name layer)
  if(layer GREATER WEIR_PURE_LAYER_MAX)
    return()
  endif()
  foreach(link IN LISTS ARGN)
    if(link MATCHES "${WEIR_IMPURE_LINKS}")
      message(FATAL_ERROR "library '${name}' (layer ${layer}) links '${link}': layers 0 to "
                          "${WEIR_PURE_LAYER_MAX} are pure machines without network, threads, schemas or "
                          "logging; put the adapter that needs it into layer 3")
    endif()
  endforeach()
endfunction()
