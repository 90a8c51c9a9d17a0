// The loop over contexts that are ids: MatrixFactorization.
#include "compositions/context.hpp"
#include "compositions/items.hpp"
#include "share.hpp"

namespace topwise {

// Compiled once for each instruction set; not templates, since those cannot be.
TOPWISE_CLONES void run(Worker<IdContext, IdItems>& worker, const Share& share) { run_share(worker, share); }
TOPWISE_CLONES void run(Worker<IdContext, ContentItems>& worker, const Share& share) { run_share(worker, share); }

}  // namespace topwise
