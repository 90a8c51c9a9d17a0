// The loop over queries with lists: LaSR.
#include "compositions/context.hpp"
#include "compositions/list.hpp"
#include "share.hpp"

namespace topwise {

// Compiled once for each instruction set; not templates, since those cannot be.
TOPWISE_CLONES void run(Worker<ListContext<IdContext, PairItems>, PairItems>& worker, const Share& share) { run_share(worker, share); }
TOPWISE_CLONES void run(Worker<ListContext<IdContext, PairContentItems>, PairContentItems>& worker, const Share& share) { run_share(worker, share); }

}  // namespace topwise
