// Runs an epoch of the loop on all threads, for every composition.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "compositions/all.hpp"
#include "share.hpp"
#include "train.hpp"

namespace topwise {

// The loop over a worker's share, one for each kind of contexts and items, in kernels/.
template <class Own, class Items>
using ListWorker = Worker<ListContext<Own, Items>, Items>;
void run(Worker<IdContext, IdItems>& worker, const Share& share);
void run(Worker<IdContext, ContentItems>& worker, const Share& share);
void run(Worker<ContentContext, IdItems>& worker, const Share& share);
void run(Worker<ContentContext, ContentItems>& worker, const Share& share);
void run(Worker<HistoryContext, IdItems>& worker, const Share& share);
void run(Worker<PairContext, IdItems>& worker, const Share& share);
void run(Worker<PairContext, ContentItems>& worker, const Share& share);
void run(Worker<TasteContext, IdItems>& worker, const Share& share);
void run(Worker<TasteContext, ContentItems>& worker, const Share& share);
void run(ListWorker<IdContext, PairItems>& worker, const Share& share);
void run(ListWorker<IdContext, PairContentItems>& worker, const Share& share);
void run(ListWorker<ContentContext, PairItems>& worker, const Share& share);
void run(ListWorker<ContentContext, PairContentItems>& worker, const Share& share);

class Engine {
  public:
    // `vectors`: where item vectors with content are kept materialised.
    Engine(Log log, Loss loss, Contexts contexts, Side items, float* vectors, Overlap overlap, Settings settings)
        : log_(log),
          loss_(loss),
          contexts_(std::move(contexts)),
          items_(items),
          vectors_(vectors),
          overlap_(std::move(overlap)),
          settings_(settings) {
        std::visit(
            [&](auto& source) {
                if constexpr (requires { source.vectors; }) source.vectors = vectors_;
                source.check_for(log_, items_);
            },
            contexts_);
        log_.users.empty() ? plan_visits() : plan_pairs();
        count_items();
        find_undrawable();
    }

    Progress run_epoch(const Epoch& epoch, const std::function<void()>& poll) {
        deal_items(epoch);
        return std::visit(
            [&](const auto& source) {
                using Context = typename std::decay_t<decltype(source)>::Context;
                if constexpr (requires { typename Context::Items; }) {
                    return run_rounds<Context, typename Context::Items>(source, epoch, poll);
                } else {
                    if constexpr (kTakesContent<Context>) {
                        if (!items_.content.empty()) return run_rounds<Context, ContentItems>(source, epoch, poll);
                    }
                    return run_rounds<Context, IdItems>(source, epoch, poll);
                }
            },
            contexts_);
    }

  private:
    static constexpr std::int64_t kCachedGroups = 1 << 15;  // 2 MiB of floats
    static constexpr std::int64_t kPage = 4096 / sizeof(float);
    static constexpr std::int64_t kLeastPages = 16;  // of a block; with fewer, items are dealt one by one

    // Contexts go to workers in ranges of about as many events each.
    void plan_visits() {
        const auto workers = static_cast<std::size_t>(settings_.threads);
        visits_.resize(workers);
        const std::int64_t events = log_.events.indptr.back();
        for (std::int64_t context = 0; context < log_.events.rows(); ++context) {
            const std::int64_t begin = log_.events.indptr[static_cast<std::size_t>(context)];
            const std::int64_t count = log_.events.indptr[static_cast<std::size_t>(context) + 1] - begin;
            if (count == 0) continue;
            const auto worker = static_cast<std::size_t>((begin + count / 2) * settings_.threads / events);
            push_parts(visits_[worker], context, count);
        }
        order_ = visits_;
    }

    // A context with very many positives is visited in longer pieces: each visit reads its whole known set.
    void push_parts(std::vector<Visit>& visits, std::int64_t context, std::int64_t count) const {
        const std::int64_t length =
            settings_.apart ? count
                            : std::max<std::int64_t>(static_cast<std::int64_t>(settings_.visit) * settings_.blocks, count / 8);
        const auto parts = static_cast<std::int32_t>((count + length - 1) / length);
        for (std::int32_t part = 0; part < parts; ++part) visits.push_back({static_cast<std::int32_t>(context), part, parts});
    }

    // Of pairs, a user is one worker's alone, so that what is the user's own is written by nobody else; and pairs are
    // visited some of a user's at a time, so that it is in the cache.
    void plan_pairs() {
        visits_.resize(static_cast<std::size_t>(settings_.threads));
        const auto& indptr = log_.events.indptr;
        const std::int64_t events = indptr.back(), contexts = log_.events.rows();
        const auto user_of = [&](std::int64_t context) { return log_.users[static_cast<std::size_t>(context)]; };
        const auto begin_of = [&](std::int64_t context) { return indptr[static_cast<std::size_t>(context)]; };
        for (std::int64_t first = 0, last = 0; first < contexts; first = last) {
            while (last < contexts && user_of(last) == user_of(first)) ++last;
            const std::int64_t middle = (begin_of(first) + begin_of(last)) / 2;
            auto& visits = visits_[static_cast<std::size_t>(std::min(middle, events - 1) * settings_.threads / events)];
            std::int64_t taken = settings_.visit;  // by the visit that is being filled
            for (std::int64_t context = first; context < last; ++context) {
                const std::int64_t count = begin_of(context + 1) - begin_of(context);
                if (count == 0) continue;
                taken += count;
                if (taken <= settings_.visit) {
                    visits.back().contexts = static_cast<std::int32_t>(context - visits.back().context + 1);
                } else {
                    push_parts(visits, context, count);
                    taken = count;
                }
            }
        }
        order_ = visits_;
    }

    // Items are dealt a page of their rows at a time: what a core fetches ahead stays within a page, and would take
    // rows from the other cores' caches if neighbours were theirs.
    void count_items() {
        if (settings_.blocks == 1) return;
        const std::int64_t in_page = kPage / (items_.table.groups * kLanes);
        page_ = log_.items / settings_.blocks < kLeastPages * in_page ? 1 : std::max<std::int64_t>(in_page, kLanes);
        std::vector<std::int64_t> counts(static_cast<std::size_t>((log_.items + page_ - 1) / page_));
        for (const std::int32_t item : log_.events.indices) ++counts[static_cast<std::size_t>(item / page_)];
        by_count_.resize(counts.size());
        std::iota(by_count_.begin(), by_count_.end(), 0);
        std::stable_sort(by_count_.begin(), by_count_.end(), [&](std::int32_t a, std::int32_t b) {
            return counts[static_cast<std::size_t>(a)] > counts[static_cast<std::size_t>(b)];
        });
    }

    void find_undrawable() {
        if (log_.drawable.empty()) return;
        std::vector<bool> drawable(static_cast<std::size_t>(log_.items));
        for (const std::int32_t item : log_.drawable) drawable[static_cast<std::size_t>(item)] = true;
        for (std::size_t item = 0; item < drawable.size(); ++item)
            if (!drawable[item]) undrawable_.push_back(static_cast<std::int32_t>(item));
    }

    // Pages of about the same number of events are dealt to different blocks, so that blocks are equal.
    void deal_items(const Epoch& epoch) {
        const auto blocks = static_cast<std::size_t>(settings_.blocks);
        block_.assign(blocks, {});
        if (blocks == 1) {
            block_[0].assign(log_.drawable.begin(), log_.drawable.end());
            return;
        }
        block_of_.resize(static_cast<std::size_t>(log_.items));
        Rng rng(epoch.seed, static_cast<std::uint64_t>(epoch.number) * 4096 + 4094);
        std::vector<std::uint8_t> hand(blocks);
        std::iota(hand.begin(), hand.end(), std::uint8_t{0});
        for (std::size_t i = 0; i < by_count_.size(); ++i) {
            if (i % blocks == 0) shuffle(hand.data(), static_cast<std::int64_t>(blocks), rng);
            const std::int64_t first = by_count_[i] * page_, last = std::min(first + page_, log_.items);
            std::fill(block_of_.begin() + first, block_of_.begin() + last, hand[i % blocks]);
        }
        for (std::size_t item = 0; item < block_of_.size(); ++item)
            block_[block_of_[item]].push_back(static_cast<std::int32_t>(item));
    }

    template <class Context, class Items>
    Progress run_rounds(const typename Context::Source& source, const Epoch& epoch, const std::function<void()>& poll) {
        const Shared shared{log_, loss_, overlap_, settings_, epoch, block_of_,
                            block_, undrawable_, items_.table.count * items_.table.groups > kCachedGroups};
        const auto workers = visits_.size();
        std::vector<Worker<Context, Items>> worker;
        worker.reserve(workers);
        const Table& table = items_.table;
        for (std::size_t w = 0; w < workers; ++w) {
            const Items items = make_items<Items>(source);
            worker.emplace_back(shared, Context(source, log_, items_), items, items.groups(), table.dim, items_.bias, w);
        }
        Interruption interruption(poll);
        const std::thread::id caller = std::this_thread::get_id();
        const int rounds = settings_.rounds;
        const int cycles = rounds / settings_.blocks;

        for (int round = 0; round < rounds; ++round) {
            if (!items_.content.empty()) refresh(make_items<Items>(source));
            const auto work = [&](std::int64_t begin, std::int64_t, int) {
                const auto w = static_cast<std::size_t>(begin);
                std::vector<Visit>& order = order_[w];
                const int cycle = round / settings_.blocks;
                if (round == 0) {
                    order = visits_[w];
                    Rng rng(epoch.seed, static_cast<std::uint64_t>(epoch.number) * 4096 + w, 2);
                    shuffle(order.data(), static_cast<std::int64_t>(order.size()), rng);
                }
                const auto size = static_cast<std::int64_t>(order.size());
                const float fall = (epoch.last_rate - epoch.first_rate) / static_cast<float>(rounds);
                const float rate = epoch.first_rate + fall * static_cast<float>(round);
                const int block = static_cast<int>((static_cast<int>(w) + round) % settings_.blocks);
                try {
                    run(worker[w], Share{order.data() + size * cycle / cycles, order.data() + size * (cycle + 1) / cycles,
                                         block, rate, rate + fall, &interruption,
                                         std::this_thread::get_id() == caller, settings_.apart});
                } catch (...) {
                    interruption.stop();
                    throw;
                }
            };
            parallel_for(static_cast<std::int64_t>(workers), 1, settings_.threads, work);
            interruption.rethrow();
        }
        if (settings_.threads > 1 && settings_.blocks == 1 && !settings_.apart) {
            project(items_.table);
            source.each_table([&](const Table& rows) { project(rows); });
        } else if constexpr (requires { source.similar; }) {
            if (settings_.threads > 1) project(source.similar.table);  // listed items may be of any block
        }
        Progress total;
        for (const auto& each : worker) total += each.progress;
        return total;
    }

    // Two workers that step along the same row at once can leave it a little outside its ball.
    void project(const Table& table) const {
        parallel_for(table.count - table.frozen, 1024, settings_.threads, [&](std::int64_t begin, std::int64_t end, int) {
            for (std::int64_t i = table.frozen + begin; i < table.frozen + end; ++i) {
                float* row = table.row(i);
                keep_in_ball(table, i, dot(row, row, table.groups));
            }
        });
    }

    template <class Items, class Source>
    Items make_items(const Source& source) const {
        if constexpr (requires { source.similar; }) return Items(items_, vectors_, source.similar);
        else return Items(items_, vectors_);
    }

    template <class Items>
    void refresh(const Items& items) const {
        parallel_for(log_.items, 1024, settings_.threads,
                     [&](std::int64_t begin, std::int64_t end, int) { items.refresh(begin, end); });
    }

    Log log_;
    Loss loss_;
    Contexts contexts_;
    Side items_;
    float* vectors_;
    Overlap overlap_;
    Settings settings_;
    std::vector<std::vector<Visit>> visits_, order_;
    std::int64_t page_ = 1;
    std::vector<std::int32_t> by_count_, undrawable_;
    std::vector<std::uint8_t> block_of_;
    std::vector<std::vector<std::int32_t>> block_;
};

}  // namespace topwise
