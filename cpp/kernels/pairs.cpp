// The loop over pairs of a query and a user: LCR.
#include "compositions/items.hpp"
#include "compositions/lcr.hpp"
#include "share.hpp"

namespace topwise {

// Compiled once for each instruction set; not templates, since those cannot be.
TOPWISE_CLONES void run(Worker<PairContext, IdItems>& worker, const Share& share) { run_share(worker, share); }
TOPWISE_CLONES void run(Worker<PairContext, ContentItems>& worker, const Share& share) { run_share(worker, share); }

}  // namespace topwise
