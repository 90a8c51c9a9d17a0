// The loop over contexts that are their items: ItemBag.
#include "compositions/history.hpp"
#include "compositions/items.hpp"
#include "share.hpp"

namespace topwise {

// Compiled once for each instruction set; not templates, since those cannot be.
TOPWISE_CLONES void run(Worker<HistoryContext, IdItems>& worker, const Share& share) { run_share(worker, share); }

}  // namespace topwise
