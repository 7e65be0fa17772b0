// A library beside a plugin that needs it.
extern "C" __attribute__((visibility("default"))) int weir_test_sibling() { return 1; }
