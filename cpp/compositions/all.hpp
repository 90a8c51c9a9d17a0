// Every composition there is: a new one is a header, a line in Contexts, and its `run` in engine.hpp.
#pragma once

#include <variant>

#include "compositions/context.hpp"
#include "compositions/history.hpp"
#include "compositions/items.hpp"
#include "compositions/lcr.hpp"
#include "compositions/list.hpp"
#include "compositions/tastes.hpp"

namespace topwise {

// What contexts are made from.
using Contexts = std::variant<IdContext::Source, ContentContext::Source, HistoryContext::Source, PairContext::Source,
                              TasteContext::Source, ListContext<IdContext, PairItems>::Source,
                              ListContext<IdContext, PairContentItems>::Source,
                              ListContext<ContentContext, PairItems>::Source,
                              ListContext<ContentContext, PairContentItems>::Source>;

// Whether items of content can be trained with them.
template <class Context>
inline constexpr bool kTakesContent = !std::is_same_v<Context, HistoryContext>;

}  // namespace topwise
