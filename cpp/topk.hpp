// Exact top-k by dot product.
//
// Items stand by falling norm, packed in panels. A query reads them in that order, and stops at a block where
//     |query| * (largest norm of the block)  <  its k-th best score so far,
// since by Cauchy-Schwarz nothing from there on can enter its list. Until then it costs what a matrix product
// costs: twelve queries against sixteen items in registers, and only scores that reach a query's k-th best
// go further.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "check.hpp"
#include "panels.hpp"
#include "parallel.hpp"
#include "shortlist.hpp"
#include "simd.hpp"
#include "views.hpp"

namespace topwise {

// A list of items for each query, best first: rows of k entries, filled up with item -1 and score -infinity.
struct TopK {
    std::vector<std::int32_t> items;
    std::vector<float> scores;
};

// A set of numbers 0..size-1.
class BitSet {
  public:
    explicit BitSet(std::int64_t size) : words_((size + 63) / 64) {}

    void insert(std::int64_t i) { words_[i / 64] |= std::uint64_t{1} << (i % 64); }
    bool contains(std::int64_t i) const { return words_[i / 64] >> (i % 64) & 1; }
    std::vector<std::int64_t> sorted() const {
        std::vector<std::int64_t> members;
        for (std::size_t w = 0; w < words_.size(); ++w) {
            for (std::uint64_t left = words_[w]; left != 0; left &= left - 1) {
                members.push_back(static_cast<std::int64_t>(w) * 64 + std::countr_zero(left));
            }
        }
        return members;
    }

  private:
    std::vector<std::uint64_t> words_;
};

// The queries that a worker still scans for, side by side in tiles. The last one takes the slot of one done.
class OpenQueries {
  public:
    OpenQueries(const Matrix& queries, std::int64_t begin, std::int64_t end, std::int64_t k,
                const RowLists& exclude)
        : tiles_(end - begin, queries.cols), open_(end - begin) {
        floors_.assign(tiles_.blocks() * kTileRows, kNever);
        for (std::int64_t slot = 0; slot < open_; ++slot) {
            const float* query = queries.row(begin + slot);
            tiles_.set(slot, query);
            floors_[slot] = -kNever;
            norms_.push_back(norm(query, queries.cols));
            owner_.push_back(slot);
            lists_.emplace_back(k, exclude.row(begin + slot));
        }
    }

    std::int64_t open() const { return open_; }
    const ContextTiles& tiles() const { return tiles_; }
    // A score above its slot's floor reaches the slot's k-th best; none is above the floor of an empty slot.
    const float* floors() const { return floors_.data(); }
    std::vector<Shortlist>& lists() { return lists_; }

    void offer(std::int64_t slot, Shortlist::Entry entry) {
        Shortlist& list = list_of(slot);
        list.offer(entry);
        floors_[slot] = std::nextafter(list.bar(), -kNever);
    }

    // Closes the queries whose k-th best score is out of reach for items no longer than `item_norm`. The
    // bound has to hold for scores as computed: `reach` allows for the rounding of float sums, and then their
    // underflow.
    void close_finished(double item_norm) {
        const double dim = static_cast<double>(tiles_.dim());
        const double reach = item_norm * (1 + (dim + 8) * std::numeric_limits<float>::epsilon());
        const double underflow = dim * std::numeric_limits<float>::denorm_min();
        for (std::int64_t slot = open_ - 1; slot >= 0; --slot) {
            if (norms_[slot] * reach + underflow < list_of(slot).bar()) close(slot);
        }
    }

  private:
    static constexpr float kNever = std::numeric_limits<float>::infinity();

    Shortlist& list_of(std::int64_t slot) { return lists_[owner_[slot]]; }

    void close(std::int64_t slot) {
        const std::int64_t last = --open_;
        tiles_.copy(slot, tiles_, last);
        floors_[slot] = floors_[last];
        floors_[last] = kNever;
        norms_[slot] = norms_[last];
        owner_[slot] = owner_[last];
    }

    ContextTiles tiles_;
    std::int64_t open_;
    std::vector<float> floors_;
    std::vector<double> norms_;
    std::vector<std::int64_t> owner_;  // the list that a slot fills
    std::vector<Shortlist> lists_;
};

class ItemIndex {
  public:
    explicit ItemIndex(const Matrix& items) : panels_(items.rows, items.cols), position_(items.rows) {
        check_items(items);
        std::vector<double> norms;
        for (std::int64_t i = 0; i < items.rows; ++i) norms.push_back(norm(items.row(i), items.cols));
        item_.resize(norms.size());
        std::iota(item_.begin(), item_.end(), 0);
        std::stable_sort(item_.begin(), item_.end(),
                         [&](std::int32_t a, std::int32_t b) { return norms[a] > norms[b]; });
        for (std::int64_t at = 0; at < size(); ++at) {
            position_[item_[at]] = static_cast<std::int32_t>(at);
            norms_.push_back(norms[item_[at]]);
            panels_.set(at, items.row(item_[at]));
        }
    }

    std::int64_t size() const { return panels_.rows(); }
    std::int64_t dim() const { return panels_.dim(); }

    // The k best items of each query, as if those in its row of `exclude` did not exist, nor, when
    // `candidates` are given, any others than these. `poll` is called now and then by the calling thread, and
    // may throw.
    TopK search(const Matrix& queries, std::int64_t k, const RowLists& exclude,
                std::optional<std::span<const std::int32_t>> candidates, int threads,
                const std::function<void()>& poll = {}) const {
        check_contexts(queries, dim(), norms_.empty() ? 0.0 : norms_.front());
        check(k >= 1 && k <= std::numeric_limits<std::int32_t>::max(),
              [&] { return "k must be in 1..2147483647, got " + std::to_string(k); });
        check_lists(exclude, queries.rows, size(), "exclude");
        if (!candidates) return scan(queries, k, exclude, nullptr, threads, poll);

        const BitSet allowed = positions(*candidates);
        const std::vector<std::int64_t> kept = allowed.sorted();
        // To pack a row costs about as much as to score it for eight queries.
        if (std::ssize(kept) * (queries.rows + 8) < size() * queries.rows) {
            return ItemIndex(*this, kept).scan(queries, k, exclude, nullptr, threads, poll);
        }
        return scan(queries, k, exclude, &allowed, threads, poll);
    }

  private:
    // Some positions of another index, for one search: it keeps the items' numbers, and cannot be restricted.
    ItemIndex(const ItemIndex& whole, const std::vector<std::int64_t>& kept)
        : panels_(std::ssize(kept), whole.dim()) {
        for (std::int64_t at = 0; at < size(); ++at) {
            panels_.copy(at, whole.panels_, kept[at]);
            item_.push_back(whole.item_[kept[at]]);
            norms_.push_back(whole.norms_[kept[at]]);
        }
    }

    BitSet positions(std::span<const std::int32_t> items) const {
        BitSet result(size());
        for (const std::int32_t item : items) {
            check(item >= 0 && item < size(), [&] {
                return "candidates must be in 0.." + std::to_string(size() - 1) + ", got " +
                       std::to_string(item);
            });
            result.insert(position_[item]);
        }
        return result;
    }

    TopK scan(const Matrix& queries, std::int64_t k, const RowLists& exclude, const BitSet* allowed,
              int threads, const std::function<void()>& poll) const {
        const std::int64_t cells = queries.rows * k;
        TopK result{std::vector<std::int32_t>(cells, -1),
                    std::vector<float>(cells, -std::numeric_limits<float>::infinity())};
        auto body = [&](std::int64_t begin, std::int64_t end, int worker) {
            if (worker == 0 && poll) poll();
            OpenQueries open(queries, begin, end, k, exclude);
            scan(open, allowed);
            for (std::int64_t i = begin; i < end; ++i) {
                std::int64_t cell = i * k;
                for (const Shortlist::Entry& entry : open.lists()[i - begin].sorted()) {
                    result.items[cell] = entry.item;
                    result.scores[cell++] = entry.score;
                }
            }
        };
        const std::int64_t chunk = even_chunk(queries.rows, most_at_once(k), kTileRows, threads);
        parallel_for(queries.rows, chunk, threads, body);
        return result;
    }

    void scan(OpenQueries& open, const BitSet* allowed) const {
        const std::int64_t step = std::clamp<std::int64_t>(kBlockFloats / (dim() * kLanes), 1, 32);
        for (std::int64_t panel = 0; panel < panels_.blocks(); panel += step) {
            open.close_finished(norms_[panel * kLanes]);
            if (open.open() == 0) return;
            const std::int64_t end = std::min(panel + step, panels_.blocks());
            for (std::int64_t first = 0; first < open.open(); first += kTileRows) {
                scan_tile(open, first, panel, end, allowed);
            }
        }
    }

    TOPWISE_CLONES void scan_tile(OpenQueries& open, std::int64_t first_slot, std::int64_t begin,
                                  std::int64_t end, const BitSet* allowed) const {
        const int rows = static_cast<int>(std::min<std::int64_t>(kTileRows, open.open() - first_slot));
        for_each_piece(rows, accumulators(), [&]<int Rows>(int first) __attribute__((always_inline)) {
            alignas(Lanes) float scores[Rows * kLanes];
            const float* tile = open.tiles().block(first_slot / kTileRows) + first;
            const float* floors = open.floors() + first_slot + first;
            for (std::int64_t panel = begin; panel < end; ++panel) {
                score_tile<Rows>(tile, panels_.block(panel), dim(), scores, kLanes);
                if (!any_reaches<Rows>(scores, floors)) continue;
                for (int cell = 0; cell < Rows * kLanes; ++cell) {
                    if (scores[cell] > floors[cell / kLanes]) {
                        offer(open, first_slot + first + cell / kLanes, panel * kLanes + cell % kLanes,
                              scores[cell], allowed);
                    }
                }
            }
        });
    }

    // By the signs of differences: gcc 12 compares vectors of this size one lane at a time.
    template <int Rows>
    static TOPWISE_INLINE bool any_reaches(const float* scores, const float* floors) {
        LaneBits signs = (LaneBits)(lanes(scores) - floors[0]);
        TOPWISE_UNROLL for (int r = 1; r < Rows; ++r) {
            signs &= (LaneBits)(lanes(scores + r * kLanes) - floors[r]);
        }
        return any_positive(signs);
    }

    // Rare, so kept out of the loop.
    __attribute__((noinline)) void offer(OpenQueries& open, std::int64_t slot, std::int64_t position,
                                         float score, const BitSet* allowed) const {
        if (position >= size() || (allowed && !allowed->contains(position))) return;
        open.offer(slot, {score, item_[position]});
    }

    // Queries a worker takes at once: enough to share each block of items, few enough to stay in the cache
    // with it, and with lists of a bounded size.
    std::int64_t most_at_once(std::int64_t k) const {
        const std::int64_t tiles = std::min(kListEntries / k, kQueryFloats / dim()) / kTileRows;
        return std::clamp<std::int64_t>(tiles, 1, 20) * kTileRows;
    }

    static constexpr std::int64_t kListEntries = std::int64_t{1} << 25;
    static constexpr std::int64_t kQueryFloats = 1 << 16;
    static constexpr std::int64_t kBlockFloats = 1 << 15;

    ItemPanels panels_;
    std::vector<std::int32_t> item_;      // the item at a position
    std::vector<double> norms_;           // and its norm, falling
    std::vector<std::int32_t> position_;  // the position of an item
};

}  // namespace topwise
