// What one worker does of a round, and how it learns that it shall stop.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>

#include "train.hpp"

namespace topwise {

// A piece of a context's positives; or, where contexts are pairs, some contexts of one user.
struct Visit {
    std::int32_t context;
    std::int32_t part;
    std::int32_t parts;
    std::int32_t contexts = 1;
};

// Asks now and then whether the user wants to stop. What the asking throws is kept until all workers have ended: gcc
// ends the process when an exception leaves a function that it compiled for several instruction sets.
class Interruption {
  public:
    explicit Interruption(const std::function<void()>& poll) : poll_(poll) {}

    // Only the calling thread may ask.
    void ask() noexcept {
        try {
            if (poll_) poll_();
        } catch (...) {
            error_ = std::current_exception();
            stop_ = true;
        }
    }
    void stop() { stop_ = true; }
    bool stopped() const { return stop_.load(std::memory_order_relaxed); }
    void rethrow() const {
        if (error_) std::rethrow_exception(error_);
    }

  private:
    const std::function<void()>& poll_;
    std::exception_ptr error_;
    std::atomic<bool> stop_{false};
};

// One worker's share of a round.
struct Share {
    const Visit* first;
    const Visit* last;
    int block;
    float first_rate, last_rate;
    Interruption* interruption;
    bool asks;  // true of the calling thread alone
    bool apart;  // contexts do not know of the round's order
};

template <class Context, class Items>
TOPWISE_INLINE void run_share(Worker<Context, Items>& worker, const Share& share) {
    using Clock = std::chrono::steady_clock;
    auto asked = Clock::now();
    worker.begin_round(share.block);
    const float count = static_cast<float>(share.last - share.first);
    for (const Visit* visit = share.first; visit != share.last; ++visit) {
        if (share.interruption->stopped()) return;
        const float done = share.apart ? 0 : static_cast<float>(visit - share.first) / count;
        const float rate = share.first_rate + (share.last_rate - share.first_rate) * done;
        for (std::int32_t i = 0; i < visit->contexts; ++i)
            worker.visit(visit->context + i, visit->part, visit->parts, share.block, rate);
        if (share.asks && Clock::now() - asked > std::chrono::milliseconds(50)) {
            share.interruption->ask();
            asked = Clock::now();
        }
    }
}

}  // namespace topwise
