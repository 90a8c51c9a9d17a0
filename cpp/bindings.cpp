// The extension module: thin bindings over the kernels, which know nothing of Python.
#include "bind_anchors.hpp"
#include "bind_retrieval.hpp"
#include "bind_svmlight.hpp"
#include "bind_training.hpp"

NB_MODULE(_core, module) {
    nanobind::set_leak_warnings(false);  // what lives until the process ends is no leak to tell users of
    module.doc() = "The compiled kernels of topwise.";
    topwise::bind_retrieval(module);
    topwise::bind_training(module);
    topwise::bind_svmlight(module);
    topwise::bind_anchors(module);
}
