// The loop over contexts of several tastes: MaxMF.
#include "compositions/items.hpp"
#include "compositions/tastes.hpp"
#include "share.hpp"

namespace topwise {

// Compiled once for each instruction set; not templates, since those cannot be.
TOPWISE_CLONES void run(Worker<TasteContext, IdItems>& worker, const Share& share) { run_share(worker, share); }
TOPWISE_CLONES void run(Worker<TasteContext, ContentItems>& worker, const Share& share) { run_share(worker, share); }

}  // namespace topwise
