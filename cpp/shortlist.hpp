// The best items of one query, kept while a kernel scans.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace topwise {

// A heap of at most k items with the worst of them on top. Order: higher score first, then lower item number.
class Shortlist {
  public:
    struct Entry {
        float score;
        std::int32_t item;
    };

    // `excluded` is sorted.
    Shortlist(std::int64_t k, std::span<const std::int32_t> excluded) : k_(k), excluded_(excluded) {
        heap_.reserve(std::min<std::int64_t>(k, 256));
    }

    // The k-th best score, which a newcomer has to reach.
    float bar() const {
        return std::ssize(heap_) < k_ ? -std::numeric_limits<float>::infinity() : heap_.front().score;
    }

    void offer(Entry entry) {
        const bool full = std::ssize(heap_) == k_;
        if (full && !better(entry, heap_.front())) return;
        if (std::binary_search(excluded_.begin(), excluded_.end(), entry.item)) return;
        if (full) {
            replace_worst(entry);
        } else {
            heap_.push_back(entry);
            std::push_heap(heap_.begin(), heap_.end(), better);
        }
    }

    // Best first. The list takes no offers afterwards.
    std::span<const Entry> sorted() {
        std::sort_heap(heap_.begin(), heap_.end(), better);
        return heap_;
    }

  private:
    static bool better(const Entry& a, const Entry& b) {
        return a.score > b.score || (a.score == b.score && a.item < b.item);
    }

    // Sifts the newcomer down from the top, half the moves of a pop and a push.
    void replace_worst(Entry entry) {
        const std::size_t size = heap_.size();
        std::size_t hole = 0;
        for (std::size_t child = 1; child < size; child = 2 * hole + 1) {
            if (child + 1 < size && better(heap_[child], heap_[child + 1])) ++child;
            if (!better(entry, heap_[child])) break;
            heap_[hole] = heap_[child];
            hole = child;
        }
        heap_[hole] = entry;
    }

    std::int64_t k_;
    std::span<const std::int32_t> excluded_;
    std::vector<Entry> heap_;
};

}  // namespace topwise
