// The loop over contexts of content: MatrixFactorization with features, Wsabie.
#include "compositions/context.hpp"
#include "compositions/items.hpp"
#include "share.hpp"

namespace topwise {

// Compiled once for each instruction set; not templates, since those cannot be.
TOPWISE_CLONES void run(Worker<ContentContext, IdItems>& worker, const Share& share) { run_share(worker, share); }
TOPWISE_CLONES void run(Worker<ContentContext, ContentItems>& worker, const Share& share) { run_share(worker, share); }

}  // namespace topwise
